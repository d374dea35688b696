"""From ``module:Class`` to the class, imported into this process."""

import importlib
import inspect
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from catalog.errors import ArtifactError, ConfigError
from catalog.faults import nearest
from catalog.user_code.protocol import ARGUMENTS, options_fault, signature_fault
from catalog.user_code.source import import_folder, shown
from catalog.variant import Variant
from deployments.runtimes.user_code.containing import contained, fault

FileState = tuple[str, int, int]

_imported: dict[Path, tuple[FileState, ...]] = {}
"""By folder path, time of change and size of its modules, when one of them was last imported here, or tried to be."""

_folders: dict[str, Path] = {}
"""By name the folder that a module was last imported from."""


def import_class(variant: Variant, source: Path) -> type[Any]:
    """The class of a variant whose module is the file ``source``; runs the module.

    The module's folder goes in front of Python's path, for good: a class may import what stands beside it when it
    runs. Where a module of the folder changed since one was imported here, all of them are imported anew; objects made
    before stay as they are.
    Raises `ArtifactError` that says where in the user's files importing failed, and `ConfigError` for no such class.
    """
    path = variant.artifact.import_path or ""
    module_name, _, name = path.partition(":")
    folder = import_folder(source, path)
    _put_in_front(folder, module_name)
    state = _state(source.parent)
    moved = _folders.get(module_name, source.parent) != source.parent
    if moved or _imported.get(source.parent, state) != state:
        _forget_beside(source)
        sys.modules.pop(module_name, None)
        importlib.invalidate_caches()
    _imported[source.parent], _folders[module_name] = state, source.parent
    what = f"variant {variant.name!r}: artifact.import {path!r}"
    try:
        with contained(f"importing {module_name}"):
            module = importlib.import_module(module_name)
    except Exception as error:
        raise ArtifactError(
            f"{what} cannot be imported: {fault(error, folder)}; correct it, or give the pool's workers what it needs "
            "by `runtime_env`"
        ) from error
    if Path(getattr(module, "__file__", None) or "").resolve() != source.resolve():
        raise ArtifactError(
            f"{what}: this process has another module {module_name!r}, from "
            f"{getattr(module, '__file__', 'no file')}, and not {source}; rename yours"
        )
    found = getattr(module, name, None)
    if not inspect.isclass(found):
        known = [
            key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module_name
        ]
        odd = f"is of type {type(found).__name__}" if hasattr(module, name) else f"is not there{nearest(name, known)}"
        raise ConfigError(
            f"{what}: {name} {odd}; name a class of {shown(source, folder)}: {', '.join(known) or 'there is none'}"
        )
    missing = [method for method in ARGUMENTS if not callable(getattr(found, method, None))]
    if missing:
        raise ConfigError(
            f"{what}: class {place_of(found, folder)} has no {' and no '.join(missing)}; it needs setup(device) and "
            "predict(inputs)"
        )
    _refuse(what, place_of(found, folder), options_fault(name, _signature(found), variant.options))
    return found


def check_methods(variant: Variant, made: Any, folder: Path) -> None:
    """Refuse an object whose methods cannot be called as they will be; raises `ConfigError` that names the line."""
    for method in ARGUMENTS:
        bound = getattr(made, method)
        place = place_of(bound, folder)
        _refuse(f"variant {variant.name!r}", place, signature_fault(method, _signature(bound)))


def place_of(found: Callable[..., Any], folder: Path) -> str:
    """Where a class or a function stands, such as ``models.py, line 12 (Small.predict)``; its name where unknown."""
    name = getattr(found, "__qualname__", type(found).__name__)
    try:
        file = inspect.getsourcefile(found)
        _, line = inspect.getsourcelines(found)
    except (TypeError, OSError):  # of a C extension, or made at run time
        return name
    return f"{shown(file or '?', folder)}, line {line} ({name})"


def _signature(found: Callable[..., Any]) -> inspect.Signature:
    """Takes anything where Python knows no signature, as of some C extensions."""
    try:
        return inspect.signature(found)
    except (TypeError, ValueError):
        return inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )


def _refuse(what: str, place: str, why: str | None) -> None:
    if why is not None:
        raise ConfigError(f"{what}: {place}: {why}")


def _put_in_front(folder: Path, module: str) -> None:
    """Make Python find a module in a folder before all others."""
    spec = PathFinder.find_spec(module.partition(".")[0], sys.path)
    if spec is None or spec.origin is None or not Path(spec.origin).is_relative_to(folder):
        sys.path[:] = [str(folder), *(each for each in sys.path if each != str(folder))]


def _state(folder: Path) -> tuple[FileState, ...]:
    return tuple(map(_file_state, sorted(folder.glob("*.py"))))  # of a zip archive nothing


def _file_state(file: Path) -> FileState:
    try:
        stat = file.stat()
    except OSError:  # it went just now
        return str(file), 0, 0
    return str(file), stat.st_mtime_ns, stat.st_size


def _forget_beside(source: Path) -> None:
    """Modules whose files stand beside this one are to be imported anew, since they may belong together."""
    folder = source.parent.resolve()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and file is not None and Path(file).resolve().parent == folder:
            del sys.modules[name]

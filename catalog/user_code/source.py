"""Where the source of a class stands, found without running any of it."""

import importlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from catalog.errors import ArtifactError


def source_of(import_path: str, folder: str) -> Path:
    """The file of the module of ``module:Class``, looked for in ``folder`` first and then where Python looks.

    Imports nothing. Raises `ArtifactError` where there is no such module, or one without a file.
    """
    module = import_path.partition(":")[0]
    importlib.invalidate_caches()  # the file may be newer than what was seen of its folder
    places: list[str] = [folder if "://" in folder else str(Path(folder).resolve()), *sys.path]
    found = None
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), places)
        if spec is None:
            raise ArtifactError(
                f"{import_path!r}: there is no module {'.'.join(parts[:depth])!r}, neither in {folder} nor on "
                f"PYTHONPATH; put {parts[0]}.py beside the catalogue, or correct artifact.import"
            )
        found, places = spec.origin, list(spec.submodule_search_locations or ())
    if found is None:
        raise ArtifactError(f"{import_path!r}: {module} is a folder without __init__.py; name a module in it")
    return Path(found)


def import_folder(source: Path, import_path: str) -> Path:
    """The folder that a module is imported from: of ``a.b`` in ``/x/a/b.py`` it is ``/x``."""
    above = len(import_path.partition(":")[0].split(".")) - (source.name != "__init__.py")
    return source.parents[above]


def shown(file: str | Path, folder: str | Path) -> str:
    """A file's path as a person in its project would write it."""
    try:
        return str(Path(file).resolve().relative_to(Path(folder).resolve()))
    except ValueError:
        return str(file)

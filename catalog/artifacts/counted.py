"""What a variant depends on beside its artifact: what was measured of it holds until one of these files changes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from catalog.artifacts.external_data import external_files
from catalog.artifacts.places import local_path
from catalog.artifacts.rules import located
from catalog.user_code.source import source_of
from catalog.variant import Variant


def own_file(variant: Variant, root: str) -> Path | None:
    """The file or folder of the variant's model, or the file of its class's module; None where it is remote.

    ``root`` is where relative artifacts start from. Raises `ArtifactError` where there is no such module.
    """
    artifact = variant.artifact
    if artifact.import_path is not None:
        return source_of(artifact.import_path, root)
    return local_path(located(artifact.uri, root))


def files_beside(variant: Variant, root: str) -> tuple[Path, ...]:
    """Files that ``options`` name, weights that an ONNX file keeps beside it and, of a class, all Python files beside
    its module; sorted, without `own_file`.

    A file is named by a string, at any depth of the options, that is its path: absolute, or relative to ``root`` or to
    the folder of the module or artifact. Names of folders and URLs do not count, and neither does what lies in an
    artifact that is a folder: that is the artifact. Raises `ArtifactError` where there is no such module.
    """
    own = own_file(variant, root)
    bases = [local_path(root), *(() if own is None else (own, own.parent))]
    found = [base / name for base in bases if base is not None for name in _strings(variant.options)]
    if variant.artifact.import_path is not None and own is not None:
        found += own.parent.glob("*.py")
    elif own is not None:
        found += external_files(own)
    files = {file.resolve() for file in found if _is_file(file)}
    return tuple(sorted(files if own is None else (file for file in files if not file.is_relative_to(own.resolve()))))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no name of a file: too long, or a zero byte
        return False


def _strings(options: Any) -> Iterator[str]:
    if isinstance(options, str):
        yield options
    elif isinstance(options, Mapping):
        for each in options.values():
            yield from _strings(each)
    elif isinstance(options, list | tuple):
        for each in options:
            yield from _strings(each)

"""Weights that an ONNX file keeps in files beside it, as `torch.onnx.export` writes large models."""

import mmap
import re
from functools import lru_cache
from pathlib import Path

ONNX = ".onnx"

LOCATION = re.compile(rb"\x0a\x08location\x12([\x80-\xff]*[\x00-\x7f])")
"""An entry ``location`` of a tensor's ``external_data`` (onnx.proto3, TensorProto), up to the length of its value."""


def external_files(path: Path) -> tuple[Path, ...]:
    """Files beside a local ONNX file that it names for its weights, sorted; none for any other file or folder.

    The file is searched for such names, not parsed, so that it may be of any size. Of one that cannot be read there are
    none: whoever loads it says so.
    """
    if path.suffix != ONNX:
        return ()
    try:
        found = path.stat()
        names = _named(path, found.st_mtime_ns, found.st_size)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return ()
    return tuple(path.parent / name for name in names)


@lru_cache(maxsize=1024)
def _named(path: Path, mtime_ns: int, size_bytes: int) -> tuple[str, ...]:
    """Kept while the file stays as it is: a gigabyte takes half a second, and workers are asked what they hold again
    and again."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return tuple(sorted({_name(content, each) for each in LOCATION.finditer(content)} - {""}))


def _name(content: mmap.mmap, entry: re.Match[bytes]) -> str:
    length = 0
    for shift, byte in enumerate(entry.group(1)):
        length |= (byte & 0x7F) << (7 * shift)
    try:
        return content[entry.end() : entry.end() + length].decode()
    except UnicodeDecodeError:  # no name: it is part of something else that looks like one
        return ""

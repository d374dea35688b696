"""Model files from the file systems that fsspec can reach, no larger than allowed."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec

from catalog.artifacts.sized_copy import copied
from catalog.errors import ArtifactError

CHUNK_BYTES = 1 << 22
MOST_FILES = 10_000
"""Of one folder."""


def download_fsspec(location: str, target: Path, max_bytes: int) -> None:
    """Copy a remote file or folder to ``target``, which must not exist.

    Raises `ArtifactError`, or whatever the driver raises.
    """
    source: Any
    source, remote = fsspec.core.url_to_fs(location)
    if not source.exists(remote):
        raise ArtifactError(f"no model file at {location}; correct the uri in the catalogue or upload the file")
    if not source.isdir(remote):
        copied(_chunks(source, remote), target, location, max_bytes)
        return
    target.mkdir()
    room_bytes = max_bytes
    for number, found in enumerate(source.find(remote)):
        if number == MOST_FILES:
            raise ArtifactError(f"{location} has more than {MOST_FILES} files; a model has fewer")
        destination = target / _below(found[len(remote) :], location)
        destination.parent.mkdir(parents=True, exist_ok=True)
        room_bytes -= copied(_chunks(source, found), destination, location, room_bytes)


def _below(name: str, location: str) -> PurePosixPath:
    """The relative path of a file in a folder; raises `ArtifactError` for one that would lie outside of it."""
    path = PurePosixPath(name.lstrip("/"))
    if path.is_absolute() or not path.parts or ".." in path.parts or "\\" in name or "\0" in name:
        raise ArtifactError(f"{location} has a file {name!r}, which would not lie in its folder; rename it")
    return path


def _chunks(source: Any, remote: str) -> Iterator[bytes]:
    with source.open(remote, "rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            yield chunk

"""Copies that stop where a file becomes larger than it may be."""

from collections.abc import Iterable
from pathlib import Path

from catalog.errors import ArtifactError


def copied(chunks: Iterable[bytes], target: Path, source: str, room_bytes: int) -> int:
    """Write chunks to a new file, and give its size.

    Raises `ArtifactError` as soon as it has more than ``room_bytes``.
    """
    size_bytes = 0
    with target.open("xb") as file:
        for chunk in chunks:
            size_bytes += len(chunk)
            if size_bytes > room_bytes:
                raise ArtifactError(
                    f"{source} has more bytes than it may ({room_bytes} left of artifacts.max_bytes); raise that"
                )
            file.write(chunk)
    return size_bytes

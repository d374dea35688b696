"""Files of a local disk that are replaced as a whole or not at all, whenever their writer or the machine dies."""

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

PARTIAL = ".partial"
"""What is not whole yet is called so, and belongs to nobody once its writer is gone."""


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file, or make it; when this returns the content is on the disk, under its name.

    Raises OSError with the file's name, as where the disk is full; the file is then as it was.
    """
    partial = path.with_name(uuid4().hex + PARTIAL)
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = str(path)
        raise
    _sync(path.parent)


def remove_partial(folder: Path, older_than_s: float, now_s: float) -> None:
    """Remove what killed writers left, in seconds since the epoch; a file that somebody may be writing stays."""
    for partial in folder.glob(f"*{PARTIAL}"):
        with suppress(OSError):
            if partial.stat().st_mtime < now_s - older_than_s:
                partial.unlink()


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

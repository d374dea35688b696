"""Folders to build in, which are gone when their maker is."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WHOLE = "whole"
"""The only thing in such a folder: what is made there, until it is moved away."""


@contextmanager
def temporary_beside(folder: Path) -> Iterator[Path]:
    """A new ``whole`` in a folder of its own beside ``folder``; those that killed processes left are removed first.

    Each maker holds a lock on its folder, which ends with its process. A lock on the folder above is held meanwhile,
    so that none is taken for left before it is locked. Where the file system has no locks, nothing is removed.
    """
    above = _locked(folder.parent)
    try:
        _remove_left(folder)
        own = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
        held = _locked(own, fcntl.LOCK_NB)
    finally:
        _close(above)
    try:
        (own / WHOLE).mkdir()
        yield own / WHOLE
    finally:
        shutil.rmtree(own, ignore_errors=True)
        _close(held)


def _remove_left(folder: Path) -> None:
    for each in folder.parent.glob(f"{_prefix(folder)}????????"):
        if each.is_symlink() or not each.is_dir() or not {path.name for path in each.iterdir()} <= {WHOLE}:
            continue  # of somebody else
        held = _locked(each, fcntl.LOCK_NB)
        if held is not None:
            shutil.rmtree(each, ignore_errors=True)
            _close(held)


def _prefix(folder: Path) -> str:
    return f".{folder.name}-"


def _locked(folder: Path, flags: int = 0) -> int | None:
    """A descriptor that holds the folder's lock; None where another process has it, or there are no locks."""
    opened = os.open(folder, os.O_RDONLY)
    with suppress(OSError):
        fcntl.flock(opened, fcntl.LOCK_EX | flags)
        return opened
    os.close(opened)
    return None


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)

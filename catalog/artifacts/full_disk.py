"""A disk that is full, in words for whoever can make room, or keep things elsewhere."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from catalog.errors import AccordError

FULL = (errno.ENOSPC, errno.EDQUOT)

CACHE_ELSEWHERE = "set ACCORD_CACHE_DIR to a folder with more room"


@contextmanager
def told_where_full(folder: Path, remedy: str) -> Iterator[None]:
    """Turn the system's error of a full disk into an `AccordError` that names the file and the ``remedy``.

    ``folder`` is where something was written, for errors that do not say the file. Other errors pass.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise AccordError(f"{error.strerror}: {error.filename or folder}; make room there, or {remedy}") from error

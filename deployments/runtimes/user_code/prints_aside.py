"""What variants print while this process runs them, which is no result of the command."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

STDOUT, STDERR = 1, 2


@contextmanager
def prints_aside() -> Iterator[None]:
    """Have what goes to standard output go to standard error until the block ends, that of C libraries and of
    processes that are started meanwhile as well."""
    own = sys.stdout
    _flush(own)
    try:
        kept = os.dup(STDOUT)
    except OSError:  # it is closed
        with redirect_stdout(sys.stderr):
            yield
        return
    try:
        with suppress(OSError):
            os.dup2(STDERR, STDOUT)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _flush(own)
        os.dup2(kept, STDOUT)
        os.close(kept)


def _flush(stream: object) -> None:
    """Write what Python and C hold back: it would end up where standard output leads to by then."""
    if stream is not None:
        with suppress(OSError, ValueError):
            stream.flush()  # type: ignore[attr-defined]
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)

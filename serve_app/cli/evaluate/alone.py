"""One evaluation at a time in one folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from catalog.errors import ConfigError

LOCK = ".lock"


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Keep other evaluations out of the folder until the block ends, or this process does.

    Two would keep answers under the same names, and score each other's. Raises `ConfigError` where another is there.
    """
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise ConfigError(
            f"another evaluation is under way in {out}; wait for it, or name another folder with --out"
        ) from error
    try:
        yield
    finally:
        lock.release()

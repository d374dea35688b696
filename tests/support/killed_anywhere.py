"""A piece of work that is killed at every one of its system calls in turn, with ptrace; Linux only.

As a script: ``killed_anywhere.py WHAT PLACE FOLDER`` uses a store below the folder and says, as JSON, what is ``read``
after each kill, and whether the write was ``done`` (had returned), in the order of the kills, the last without one. It
has no thread but its own: it forks.
"""

import ctypes
import gc
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PTRACE_TRACEME, PTRACE_SYSCALL, PTRACE_SETOPTIONS = 0, 24, 0x4200
PTRACE_O_EXITKILL = 0x100000

NOT_ALLOWED = 77
"""Exit code where this machine does not allow ptrace."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def killed_after(stops: int, work: Callable[[], object]) -> bool:
    """Do the work in a child that dies at its so manieth entry into, or return from, the kernel.

    Gives whether it died before it was done. Raises PermissionError where ptrace is not allowed.
    """
    child = os.fork()
    if child == 0:
        try:
            if _libc.ptrace(PTRACE_TRACEME, 0, None, None) != 0:
                os._exit(NOT_ALLOWED)
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        raise PermissionError("ptrace is not allowed here")
    _libc.ptrace(PTRACE_SETOPTIONS, child, None, PTRACE_O_EXITKILL)
    for _ in range(stops):
        _libc.ptrace(PTRACE_SYSCALL, child, None, None)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, "the work failed by itself"
            return False
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def seen_after_every_kill(
    before: Path, now: Path, work: Callable[[], object], look: Callable[[], Any]
) -> Iterator[Any]:
    """What is seen after each kill of work on a fresh copy of ``before`` at ``now``, and at last when it was done."""
    stops = 0
    while True:
        shutil.rmtree(now, ignore_errors=True)
        shutil.copytree(before, now)
        died = killed_after(stops, work)
        yield look()
        if not died:
            return
        stops += 1


def main(what: str, place: str, folder: Path) -> None:
    """``what`` is "write", or "migrate" for a store of an earlier version that is at ``folder / "before"`` already."""
    from deployments.state.opening import open_store

    before, now = folder / "before", folder / "now"
    where = str(now / place)
    if what == "write":
        open_store(str(before / place)).write("plan", ["old"] * 50)
        gc.collect()  # SQLite is done with its log when the connection is closed

    def work() -> None:
        store = open_store(where)
        if what == "write":
            store.write("plan", ["new"] * 2000)
            (now / "done").touch()

    def look() -> Any:
        store = open_store(where)
        seen = {name: store.read(name) for name in store.names("")}
        store.write("plan", "next")
        assert store.read("plan") == "next"
        return {"read": seen, "done": (now / "done").exists()}

    try:
        json.dump(list(seen_after_every_kill(before, now, work, look)), sys.stdout)
    except PermissionError:
        sys.exit(NOT_ALLOWED)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

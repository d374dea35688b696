"""Processes that let those that answer queries go first, where the cores are short."""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress

NICENESS = 10

FIRST = 5
"""So much less nice is what goes first: it gets three times the share of a core that others get."""

OBSERVERS = (
    "ray::DashboardAgent",
    "ray::RuntimeEnvAgent",
    "ray-dashboard-",
    "dashboard/dashboard.py",
    "log_monitor.py",
)
"""In the command lines of Ray's processes that nothing waits for: its dashboard, their agents, its log monitor."""


def only_watches(command_line: Sequence[str]) -> bool:
    """Whether a process of Ray only watches the cluster, by its command line or the title that Ray gave it."""
    return any(part in each for each in command_line[:4] for part in OBSERVERS)


def let_yield(pid: int) -> None:
    """Lower the priority of all threads of a process of the same user, and of those that they start.

    Nothing happens to threads that are as nice already, to a process that is gone or another user's, and on systems
    other than Linux.
    """
    for thread in _threads(pid):
        with suppress(OSError):
            if os.getpriority(os.PRIO_PROCESS, thread) < NICENESS:
                os.setpriority(os.PRIO_PROCESS, thread, NICENESS)


def go_first() -> None:
    """Raise the priority of all threads of this process, and of those that they start, above that which it came with.

    For a router: what it has to wait for a core nobody sees beforehand, while what workers wait is measured with their
    runs, and variants are chosen accordingly. Nothing happens where this process may not, and on systems other than
    Linux.
    """
    for thread in _threads(os.getpid()):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) - FIRST)


def may_stop_yielding() -> bool:
    """Whether this process may raise its priority again: as root, or where the system's limits have it so.

    It is tried on a thread of its own, which ends with a lower priority where it may not.
    """
    may = []

    def attempt() -> None:
        own = threading.get_native_id()
        with suppress(OSError):
            before = os.getpriority(os.PRIO_PROCESS, own)
            os.setpriority(os.PRIO_PROCESS, own, before + 1)
            os.setpriority(os.PRIO_PROCESS, own, before)
            may.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(may)


def stop_yielding(like: int) -> None:
    """Have this process, which yields because the one that started it does, go no later than the process ``like``.

    Nothing happens where it does not yield, or may not stop.
    """
    with suppress(OSError):
        if os.getpriority(os.PRIO_PROCESS, 0) == NICENESS:
            os.setpriority(os.PRIO_PROCESS, 0, min(NICENESS, os.getpriority(os.PRIO_PROCESS, like)))


def _threads(pid: int) -> list[int]:
    """Of a process, as far as the system shows them."""
    with suppress(OSError):
        return [int(thread) for thread in os.listdir(f"/proc/{pid}/task")]
    return []

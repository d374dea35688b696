"""Processes that let those that answer queries go first, where the cores are short."""

import os
from collections.abc import Sequence
from contextlib import suppress

NICENESS = 10

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
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                if os.getpriority(os.PRIO_PROCESS, int(thread)) < NICENESS:
                    os.setpriority(os.PRIO_PROCESS, int(thread), NICENESS)

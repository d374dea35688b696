"""Processes that let those that answer queries go first, where the cores are short."""

import os
from contextlib import suppress

NICENESS = 10


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

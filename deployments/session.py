"""A process becomes a session that goes before or behind others: Linux may divide cores among sessions first."""

import os
import time
from contextlib import suppress

GROUP = "/proc/self/autogroup"

BUSY_S, TRIES = 0.1, 30
"""For users without all rights the system takes one niceness of a session so often, on all of the machine."""


def lead_session(niceness: int) -> None:
    """Have this process, and all that it starts, be a session of its own, with this niceness beside other sessions.

    Linux with autogroups (``kernel.sched_autogroup_enabled``) divides a core among sessions first, whatever the
    niceness of their processes, which counts within a session only (sched(7)); and a session that is busy on another
    core too has the less of each. Where this process may not have such a niceness, its session has the share that
    others have. Nothing happens where it leads a process group already.
    """
    with suppress(OSError):
        os.setsid()
        for _ in range(TRIES):
            with suppress(BlockingIOError), open(GROUP, "wb", buffering=0) as group:
                group.write(b"%d" % niceness)
                return
            time.sleep(BUSY_S)

"""A small process that ends HAProxy where its supervisor was killed and nobody takes the port over."""

import os
import select
import signal
import time
from contextlib import suppress

ORPHAN_S = 60.0
"""HAProxy serves on for so long without its supervisor or without Serve's proxy manager: others come long before."""

TOGETHER_S = 1.5
"""Serve stops its proxy by killing first the supervisor and then the manager. Where the supervisor alone is killed, the
manager goes later than this: Serve finds out by health checks that fail, and replaces it."""

REPLACED_S = 20.0
"""The next manager has taken HAProxy over so long after the one before went."""

LOOK_S = 0.05


ENDED_S = 2.0
"""A guard whose HAProxy has ended is gone within a few `LOOK_S`."""


class Guard:
    """The guard of this process and of ``manager``, its parent: a fork of this process, with id ``pid``."""

    def __init__(self, manager: int) -> None:
        reading, self._writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._writing)
            try:
                _guard(reading, manager)
            finally:
                os._exit(0)
        os.close(reading)

    def watch(self, pid: int) -> None:
        """Tell it of an HAProxy that was started."""
        with suppress(BrokenPipeError):
            os.write(self._writing, b"%d\n" % pid)

    def end(self) -> None:
        """Wait until it is gone, `ENDED_S` at most: who gets it otherwise, Ray in a container, waits for nobody.

        Where HAProxy lives on, so does the guard.
        """
        os.close(self._writing)
        end_s = time.monotonic() + ENDED_S
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0) and time.monotonic() < end_s:
            time.sleep(LOOK_S)


def _guard(pipe: int, manager: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    handle = -1
    with os.fdopen(pipe) as told:
        for line in told:  # until the supervisor ends
            if handle >= 0:
                os.close(handle)
            handle = -1
            with suppress(ProcessLookupError):  # one that ended at once; the next is told of, too
                handle = os.pidfd_open(int(line))
    if handle < 0:
        return
    ended_s = time.monotonic()
    end_s = ended_s + ORPHAN_S
    managed = True
    while (now_s := time.monotonic()) < end_s:
        if select.select([handle], [], [], LOOK_S)[0]:
            return  # HAProxy has ended
        if managed and not _alive(manager):
            managed = False
            end_s = min(end_s, now_s + (0.0 if now_s - ended_s < TOGETHER_S else REPLACED_S))
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

"""The process between Serve and HAProxy: starts it, starts it anew when it dies, and stops with it."""

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable

from serve_app.proxy.admin_socket import Relay, pid_behind
from serve_app.proxy.guard import ORPHAN_S

FORWARDED = (signal.SIGUSR1, signal.SIGTTOU, signal.SIGTTIN, signal.SIGTERM, signal.SIGINT)
"""What a successor or an operator tells HAProxy: finish softly, let go of the port, take it again, end."""

STOPPING = (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)
LOOK_S = 0.02
EARLY_S, MOST_EARLY = 1.0, 5
"""An HAProxy that dies so soon, so often in a row, is not started again: Serve is to know."""


class Supervisor:
    """Runs one HAProxy at a time.

    ``command(first)`` gives what to start; the first one may take listening sockets over, later ones find the port
    free. HAProxy's admin socket is ``inner``; Serve asks at ``outer``. ``started`` is told the process id of each.
    """

    def __init__(
        self, command: Callable[[bool], list[str]], outer: str, inner: str, started: Callable[[int], None]
    ) -> None:
        self._command = command
        self._inner = inner
        self._started = started
        self._relay = Relay(outer, inner)
        self._process: Process | None = None
        self._stopping: signal.Signals | None = None

    async def run(self) -> int:
        """Exit code: that of an HAProxy that could not start or that was asked to stop."""
        loop = asyncio.get_running_loop()
        for number in FORWARDED:
            loop.add_signal_handler(number, self._forward, number)
        parent = os.pidfd_open(os.getppid())
        loop.add_reader(parent, self._orphaned, parent)
        try:
            code = await self._start(first=True)
            if code is not None:
                return code if self._stopping is None else max(0, code)
            if self._stopping is None:  # else the path is a successor's by now
                await self._relay.open()
            return await self._keep()
        finally:
            self._relay.close()

    async def _keep(self) -> int:
        early = 0
        while True:
            began_s = time.monotonic()
            assert self._process is not None
            code = await self._process.wait()
            if self._stopping is not None:
                return max(0, code)
            early = early + 1 if time.monotonic() - began_s < EARLY_S else 0
            if early >= MOST_EARLY:
                return abs(code) or 1
            sys.stderr.write(f"HAProxy (pid {self._process.pid}) ended with {code}; it is started again\n")
            sys.stderr.flush()
            await self._start(first=False)

    async def _start(self, first: bool) -> int | None:
        """Start HAProxy and wait until it serves; its exit code where it does not.

        Where it is asked to stop before there is a process to tell, the new process is told at once.
        """
        self._process = await asyncio.create_subprocess_exec(*self._command(first))
        self._started(self._process.pid)
        if self._stopping is not None and self._process.returncode is None:
            self._process.send_signal(self._stopping)
        while self._process.returncode is None:
            if await asyncio.to_thread(pid_behind, self._inner) == self._process.pid:
                return None
            await asyncio.sleep(LOOK_S)
        return self._process.returncode

    def _forward(self, number: signal.Signals) -> None:
        if number in STOPPING:
            self._stopping = number
            self._relay.close()
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    def _orphaned(self, parent: int) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(parent)
        loop.call_later(ORPHAN_S, self._forward, signal.SIGUSR1)

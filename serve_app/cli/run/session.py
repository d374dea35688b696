"""A command and everything that it starts, as one thing that can be stopped."""

import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil

from serve_app.yielding import let_yield, only_watches

STOP_TIMEOUT_S = 40.0
LEFTOVER_TIMEOUT_S = 10.0

OPEN_QUERIES_S = 10.0
"""So long a stop waits for the answers to queries that HAProxy has open: Serve itself cuts them off."""

PROXY = "haproxy"
"""In the command lines of HAProxy and of its supervisor."""

MARK = "ACCORD_SESSIONS"
"""In the environment of all that sessions start, their marks: some processes leave for sessions of their own."""


class Session:
    """Runs a command in a session of its own, so that Ctrl-C in the terminal does not reach it by itself.

    Ray ends its own processes when the command is interrupted, but not always all: an HAProxy whose manager was
    killed first stays. `stop` therefore ends whatever is left of the session, of the command's descendants, and of what
    has its mark.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        output: IO[bytes] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._mark = uuid.uuid4().hex
        env = {**env, MARK: f"{env.get(MARK, '')} {self._mark}"}
        with _interrupts_reach_what_starts():
            self.process = subprocess.Popen(
                command, env=env, stdout=output, stderr=output, cwd=folder, start_new_session=True
            )

    @property
    def pid(self) -> int:
        """Process id of the command, which is also the id of its session."""
        return self.process.pid

    def poll(self) -> int | None:
        """Exit code of the command, None while it runs."""
        return self.process.poll()

    def let_observers_yield(self) -> None:
        """What only watches the cluster lets go first what answers queries: the dashboard, its agents, Ray's logs."""
        for process in self._family():
            with suppress(psutil.NoSuchProcess):
                if only_watches(process.cmdline()):
                    let_yield(process.pid)

    def finish_open_queries(self) -> None:
        """Have HAProxy take no more connections and end once those that are open have their answers."""
        proxies = [each for each in self._family() if any(PROXY in word for word in _command_line(each)[:2])]
        for process in proxies:
            _signal(process, signal.SIGUSR1)
        psutil.wait_procs(proxies, timeout=OPEN_QUERIES_S)

    def stop(self) -> None:
        """Interrupt the command, wait for it, and end what it leaves behind; fine to call when it has ended."""
        family = self._family()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        _end({*family, *self._family()})
        _end(self._family())  # what one of them, a supervisor, started while it was asked to end

    def _family(self) -> set[psutil.Process]:
        """Descendants of the command, and orphans that still belong to its session or have its mark."""
        family = {each for each in psutil.process_iter() if _session_of(each) == self.pid or self._mark in _marks(each)}
        if self.process.poll() is None:
            family |= set(psutil.Process(self.pid).children(recursive=True))
        return {process for process in family if process.pid != self.pid and not _has_ended(process)}


@contextmanager
def _interrupts_reach_what_starts() -> Iterator[None]:
    """Where SIGINT is ignored here, as in what a script starts in the background, children would ignore it too."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: None)  # a handler, unlike SIG_IGN, is not passed on
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _session_of(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except (ProcessLookupError, PermissionError):
        return None


def _marks(process: psutil.Process) -> str:
    try:
        return process.environ().get(MARK, "")
    except (psutil.Error, OSError):
        return ""


def _command_line(process: psutil.Process) -> Sequence[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return ()


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _end(processes: Collection[psutil.Process]) -> None:
    """Ask them to end, and end those that do not."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    _, stubborn = psutil.wait_procs(processes, timeout=LEFTOVER_TIMEOUT_S)
    for process in stubborn:
        _signal(process, signal.SIGKILL)


def _signal(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return

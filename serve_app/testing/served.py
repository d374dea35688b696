"""A server for as long as somebody needs it."""

import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from tempfile import TemporaryFile

from serve_app.cli.run.session import Session

START_TIMEOUT_S = 120.0
ENDING = (signal.SIGTERM, signal.SIGHUP)
TOLD_TO_END = threading.Event()
"""Set once such a signal came: whoever swallows `SystemExit` meanwhile is to end all the same."""

RAY_ENV = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def served(
    command: list[str],
    env: Mapping[str, str],
    port: int,
    path: str,
    body: bytes,
    within_s: float = START_TIMEOUT_S,
) -> Iterator[int]:
    """Start ``command``, wait until it answers a POST of ``body`` with 200, and stop it at the end; gives its pid.

    Where this process is told to end (SIGTERM, SIGHUP) before that, the command is stopped too. Raises RuntimeError
    with the end of its output where it dies or does not answer in so many seconds.
    """
    _refuse_taken(port)
    with TemporaryFile() as log, _ended_in_order():
        server = Session(command, {**os.environ, **RAY_ENV, **env}, log)
        try:
            deadline_s = time.monotonic() + within_s
            while not _answers(port, path, body):
                if server.poll() is not None or time.monotonic() > deadline_s:
                    log.seek(0)
                    output = log.read().decode(errors="replace")[-3000:]
                    raise RuntimeError(f"{' '.join(command)} did not serve:\n{output}")
                time.sleep(0.3)
            yield server.pid
        finally:
            server.stop()


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Signals that end this process do it by `SystemExit`, so that blocks are left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _leave) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: object) -> None:
    TOLD_TO_END.set()
    for each in ENDING:  # a second one would break off the stopping
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _answers(port: int, path: str, body: bytes) -> bool:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=3) as response:
            return bool(response.status == 200)
    except (OSError, HTTPException):
        return False


def _refuse_taken(port: int) -> None:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
    except (urllib.error.HTTPError, HTTPException):  # the latter where it speaks something else than HTTP
        pass
    except OSError:
        return
    raise RuntimeError(f"port {port} of this machine answers already; stop what runs there and try again")

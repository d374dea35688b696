"""What people see of a service that starts: a line for each step, and the end of its log where it fails."""

import http.client
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from catalog.profile_cache import cache_dir
from serve_app.cli.console import ERR

TAIL_LINES = 40
"""Of the log, where the start fails."""

STILL_EVERY_S = 20.0


def log_path(port: int) -> Path:
    """Where the log of a service on this port goes; that of the start before is kept beside it."""
    path = cache_dir() / "logs" / f"run-{port}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.replace(path.with_suffix(".log.before"))
    return path


def get(url: str) -> Any:
    """A JSON answer; raises OSError, HTTPException or ValueError where there is none."""
    with urllib.request.urlopen(url, timeout=2) as response:
        return orjson.loads(response.read())


class StartSteps:
    """Says how far a start is, with the seconds since it began; ``workers`` are to come."""

    def __init__(self, url: str, workers: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._workers = workers
        self._clock = clock
        self._began_s = clock()
        self._said: set[str] = set()
        self._said_s = self._began_s

    def say(self, text: str) -> None:
        """Print a step, once."""
        if text not in self._said:
            self._said.add(text)
            self._said_s = self._clock()
            ERR.print(f"[dim]{self._clock() - self._began_s:5.1f} s[/]  {text}", soft_wrap=True, highlight=False)

    def look(self) -> None:
        """Print where the service is now, if that is news."""
        try:
            workers = get(f"{self._url}/accord/status")["workers"]
        except (OSError, http.client.HTTPException, ValueError):
            if self._clock() - self._said_s > STILL_EVERY_S:
                self.say(f"Still starting after {self._clock() - self._began_s:.0f} s: the router does not answer yet")
            return
        failures = {f"{name}: {why}" for worker in workers.values() for name, why in worker["failed"].items()}
        loaded = sum(bool(worker["loaded"]) for worker in workers.values())
        self.say(f"The router answers; {loaded} of {self._workers} workers hold their variants")
        for failure in sorted(failures):
            self.say(f"[yellow]A variant could not be loaded: {failure}[/]")
        if loaded >= self._workers and not failures:
            self.say("Warming up: measuring what batches take here")


def print_tail(path: Path) -> None:
    """The end of a log."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines[-TAIL_LINES:]:
        ERR.print(line, markup=False, highlight=False, soft_wrap=True)
    ERR.print(f"The whole log: [bold]{path}[/]", soft_wrap=True)

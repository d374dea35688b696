"""What people see of a service that starts: a line for each step."""

import http.client
import time
import urllib.request
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import orjson
from rich.markup import escape

from serve_app.cli.console import ERR

STILL_EVERY_S = 20.0
NONE: Mapping[str, str] = MappingProxyType({})


def get(url: str, headers: Mapping[str, str] = NONE) -> Any:
    """A JSON answer; raises OSError, HTTPException or ValueError where there is none."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers)), timeout=2) as response:
        return orjson.loads(response.read())


class StartSteps:
    """Says how far a start is, with the seconds since it began; ``workers`` are to come.

    The service is asked with ``headers``; None: it asks for a key, and there is none to send.
    """

    def __init__(
        self,
        url: str,
        workers: int,
        clock: Callable[[], float] = time.monotonic,
        headers: Mapping[str, str] | None = NONE,
    ) -> None:
        self._url = url
        self.headers = headers
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
        if self.headers is None:
            return
        try:
            workers = get(f"{self._url}/accord/status", self.headers)["workers"]
        except (OSError, http.client.HTTPException, ValueError):
            if self._clock() - self._said_s > STILL_EVERY_S:
                self.say(f"Still starting after {self._clock() - self._began_s:.0f} s: the router does not answer yet")
            return
        failures = {f"{name}: {why}" for worker in workers.values() for name, why in worker["failed"].items()}
        loaded = sum(bool(worker["loaded"]) for worker in workers.values())
        self.say(f"The router answers; {loaded} of {self._workers} workers hold their variants")
        for failure in sorted(failures):
            self.say(f"[yellow]A variant could not be loaded: {escape(failure)}[/]")
        if loaded >= self._workers and not failures:
            self.say("Warming up: measuring what batches take here")

"""What a running service says of itself, twice a second."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from serve_app.testing.fetch import fetch
from serve_app.testing.repeatedly import Repeatedly

EVERY_S = 0.5
ANSWER_S = 5.0


@dataclass(frozen=True)
class Snapshot:
    """``GET /accord/status``, with the instants, of the monotonic clock, at which it was asked for and told."""

    asked_s: float
    told_s: float
    status: Mapping[str, Any]

    def endpoint(self, name: str) -> Mapping[str, Any]:
        """What it says of an endpoint, empty where it does not know it."""
        return dict(self.status.get("endpoints", {}).get(name, {}))


def look(url: str) -> Snapshot:
    """Ask once; raises OSError where the service does not answer, or with something that is no JSON."""
    asked_s = time.monotonic()
    content = fetch(f"{url}/accord/status", ANSWER_S)
    told_s = time.monotonic()
    try:
        return Snapshot(asked_s, told_s, orjson.loads(content))
    except orjson.JSONDecodeError as error:
        raise ConnectionError(f"{url}/accord/status answered with no JSON: {error}") from error


class StatusWatch(Repeatedly):
    """Looks for as long as its block runs. ``unanswered`` counts looks without an answer."""

    def __init__(self, url: str) -> None:
        super().__init__(self._look, EVERY_S)
        self.snapshots: list[Snapshot] = []
        self.unanswered = 0
        self._url = url

    def _look(self) -> None:
        try:
            self.snapshots.append(look(self._url))
        except OSError:
            self.unanswered += 1

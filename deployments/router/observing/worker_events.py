"""What befell the workers of a router lately."""

from collections import Counter, deque
from collections.abc import Container
from enum import StrEnum
from typing import Any

MOST_REMEMBERED = 20


class WorkerEvent(StrEnum):
    """What became of a worker, in the words that people see."""

    JOINED = "joined"
    DIED = "died"
    HANGS = "does not answer"
    BACK = "answers again"
    GONE = "is gone"


class WorkerEvents:
    """Counts what happened since the router began, and remembers the last of it with its instants, in seconds."""

    def __init__(self) -> None:
        self.counts: Counter[WorkerEvent] = Counter()
        self.hanging: dict[str, float] = {}
        """Workers that do not answer, and since when."""
        self._last: deque[tuple[float, str, WorkerEvent]] = deque(maxlen=MOST_REMEMBERED)

    def on_event(self, worker: str, event: WorkerEvent, now_s: float) -> None:
        """Something happened to a worker; one that joins may be one that did not answer for a while."""
        if event is WorkerEvent.HANGS:
            self.hanging[worker] = now_s
        elif self.hanging.pop(worker, None) is not None and event is WorkerEvent.JOINED:
            event = WorkerEvent.BACK
        self.counts[event] += 1
        self._last.append((now_s, worker, event))

    def forget_hanging(self, worker: str) -> None:
        """Drop a worker from those that do not answer, since this router does not ask it any more."""
        self.hanging.pop(worker, None)

    def keep_hanging(self, workers: Container[str]) -> None:
        """Drop all workers but these from those that do not answer."""
        self.hanging = {worker: since_s for worker, since_s in self.hanging.items() if worker in workers}

    def to_record(self, now_s: float) -> dict[str, Any]:
        """In JSON values; the newest first, with how long ago."""
        last = [{"worker": worker, "what": what.value, "ago_s": now_s - at_s} for at_s, worker, what in self._last]
        return {
            "counts": {event.value: self.counts[event] for event in WorkerEvent},
            "hanging_s": {worker: now_s - since_s for worker, since_s in self.hanging.items()},
            "last": last[::-1],
        }

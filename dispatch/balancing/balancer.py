"""The seam of load balancers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class WorkerLoad:
    """What a worker has to do: rows that wait in its queues and rows that it is running.

    ``slots`` is how many rows the largest batch has that any of its stages may run there.
    """

    worker: str
    queued_rows: int = 0
    running_rows: int = 0
    slots: int = 0


class LoadBalancer(Protocol):
    """Picks a worker for each job of one endpoint. May keep state (a turn), but nothing of what the loads said.

    Where it is ``central``, jobs wait in one queue that idle workers take from, and it picks only among those that are
    idle when a job comes.
    """

    central: bool

    def pick(self, loads: Sequence[WorkerLoad], now_s: float) -> int:
        """Index into ``loads``, which is never empty and ordered by worker id.

        As long as it is the same object, the workers are the same; for a central one it never is.
        """
        ...

    def phase(self, index: int) -> float:
        """How much of a turn has passed since worker ``index`` had its share: 0 to below 1, 0 without turns."""
        ...

"""How long workers really take to come."""

from collections import deque
from collections.abc import Mapping
from typing import Any

REMEMBERED = 10
"""So many of the newest start-ups of a pool count."""

LONGEST_S = 1800.0
"""A worker that comes later was held up by something that no planning ahead makes good: there was no machine for it."""


class StartUps:
    """Measures, by pool, from the plan that asked for another worker until that had joined."""

    def __init__(self) -> None:
        self._wanted: dict[str, int] = {}
        self._asked_s: dict[str, deque[float]] = {}
        self._took_s: dict[str, deque[float]] = {}

    def on_sizes(self, sizes: Mapping[str, int], there: Mapping[str, int], now_s: float) -> None:
        """A plan wants pools of these sizes; ``there`` are the workers that they have."""
        for pool, size in sizes.items():
            asked_s = self._asked_s.setdefault(pool, deque())
            missing = max(size - there.get(pool, 0), 0)
            if size > self._wanted.get(pool, size):
                asked_s.extend([now_s] * (missing - len(asked_s)))
            while len(asked_s) > missing:
                asked_s.pop()
            self._wanted[pool] = size

    def on_worker(self, pool: str, now_s: float) -> None:
        """A worker has joined; one that nobody asked for came in the place of another, and says nothing."""
        asked_s = self._asked_s.get(pool)
        if asked_s and (took_s := now_s - asked_s.popleft()) <= LONGEST_S:
            self._took_s.setdefault(pool, deque(maxlen=REMEMBERED)).append(took_s)

    def longest_s(self, pool: str) -> float:
        """The longest of the newest; 0 where none was seen."""
        return max(self._took_s.get(pool, ()), default=0.0)

    def to_record(self) -> dict[str, list[float]]:
        """What was measured in JSON values, by pool."""
        return {pool: list(took_s) for pool, took_s in self._took_s.items()}

    def restore(self, record: Mapping[str, Any]) -> None:
        """Know what another one measured."""
        self._took_s = {pool: deque(map(float, took_s), REMEMBERED) for pool, took_s in record.items()}

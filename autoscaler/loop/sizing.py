"""How many workers pools shall have: more at once, fewer once that has lasted."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """A pool has ``least`` to ``most`` workers; where both are the same its size is not the planner's to choose."""

    least: int
    most: int

    def within(self, workers: int) -> int:
        """The number nearest to ``workers`` that is allowed."""
        return min(max(workers, self.least), self.most)


class Sizing:
    """Follows what plans ask for. A worker takes seconds to start, so that one too many costs less than one too few.

    A pool shrinks when fewer were enough for ``shrink_after_s`` without a break, to the most that was asked for within.
    """

    def __init__(self, shrink_after_s: float = 60.0) -> None:
        self._shrink_after_s = shrink_after_s
        self._asked: dict[str, list[tuple[float, int]]] = {}

    def decide(self, asked: Mapping[str, int], sizes: Mapping[str, int], now_s: float) -> dict[str, int]:
        """The sizes of the pools from now on, where plans ask for ``asked`` and ``sizes`` are in force."""
        decided = {}
        for pool, workers in asked.items():
            history = self._asked.setdefault(pool, [])
            size = sizes.get(pool, workers)
            if workers >= size:
                history.clear()
                decided[pool] = workers
                continue
            history.append((now_s, workers))
            lasted = now_s - history[0][0] >= self._shrink_after_s
            decided[pool] = max(asked_for for _, asked_for in history) if lasted else size
            if lasted:
                history.clear()
        return decided

"""Each worker in turn."""

from collections.abc import Callable, Sequence

from dispatch.balancing.balancer import WorkerLoad


class RoundRobin:
    """Every worker gets every K-th job (RAMSIS, section 3.2.1), or every K-th group of consecutive jobs.

    Groups fill batches quickly where a worker alone would wait long for its next query. ``group_at`` gives the size of
    the groups of a turn over all workers that begins now; one job without it.
    """

    central = False

    def __init__(self, group_at: Callable[[float, int], int] | None = None) -> None:
        self._group_at = group_at
        self._group = 1
        self._worker = 0
        self._given = 0  # jobs of the group in progress
        self._workers = 1

    def regrouped(self, group_at: Callable[[float, int], int]) -> "RoundRobin":
        """The same turn at the same place, with groups of other sizes from the next turn on.

        A turn that began anew would give some workers twice as much at once, and others nothing for as long.
        """
        other = RoundRobin(group_at)
        other._group, other._worker, other._given, other._workers = (
            self._group,
            self._worker,
            self._given,
            self._workers,
        )
        return other

    def pick(self, loads: Sequence[WorkerLoad], now_s: float) -> int:
        """The worker whose turn it is."""
        self._workers = len(loads)
        if self._workers == 1:  # it gets every job, and groups do not matter
            self._worker = self._given = 0
            self._group = 1
            return 0
        if self._worker >= self._workers:
            self._worker = 0
        index = self._worker
        if index == self._given == 0 and self._group_at is not None:
            self._group = self._group_at(now_s, self._workers)
        self._given += 1
        if self._given >= self._group:
            self._given = 0
            self._worker = index + 1 if index + 1 < self._workers else 0
        return index

    def phase(self, index: int) -> float:
        """Jobs since the worker's group began to fill, over those of a whole turn; below 1 / K its own come next."""
        turns = (self._worker - index) % self._workers
        return (turns * self._group + self._given) / (self._workers * self._group)

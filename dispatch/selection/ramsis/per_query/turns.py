"""The round robin's turn as one worker sees it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Turn:
    """A cycle of ``workers * group`` arrivals, of which ``group`` in a row are this worker's.

    In phase p, p arrivals came since the worker's group began to fill: arrivals of phases 0 to group - 1 are its own.
    ``together[k]`` is the probability that k arrive at one instant.
    """

    workers: int
    group: int
    together: tuple[float, ...]

    @property
    def phases(self) -> int:
        """Length of the cycle."""
        return self.workers * self.group

    @cached_property
    def own(self) -> NDArray[np.bool_]:
        """Whether the next arrival is the worker's own, by phase."""
        return np.arange(self.phases) < self.group

    @cached_property
    def distance(self) -> Ints:
        """How many arrivals away the worker's next one is, by phase; at least 1."""
        return np.where(self.own, 1, self.phases - np.arange(self.phases) + 1)

    @cached_property
    def after(self) -> Ints:
        """Phase right after the worker's next arrival, by phase."""
        return np.where(self.own, np.arange(self.phases) + 1, 1) % self.phases

    @cached_property
    def single(self) -> bool:
        """Whether queries always come one at a time."""
        return self.together[1] == 1.0

    @cached_property
    def overshoot(self) -> Floats:
        """P(k arrivals beyond the d-th come at the instant of the d-th), as [d, k]; row 0 is unused.

        By conditioning on the first instant, which brings b arrivals: either d is not reached, or passed by b - d.
        """
        farthest = int(self.distance.max())
        if self.single:
            return np.ones((farthest + 1, 1))
        most = len(self.together) - 1
        together = np.array(self.together)
        beyond = np.zeros((farthest + 1, most))
        for d in range(1, farthest + 1):
            reached = together[d:] if d <= most else together[:0]
            beyond[d, : len(reached)] = reached
            for burst in range(1, min(d - 1, most) + 1):
                beyond[d] += together[burst] * beyond[d - burst]
        beyond[1:] /= beyond[1:].sum(axis=1, keepdims=True)
        return beyond

    @cached_property
    def instants(self) -> Floats:
        """Mean number of arrivals up to and with the instant of the worker's next one, by phase."""
        beyond = self.overshoot[self.distance]
        return np.asarray(self.distance + beyond @ np.arange(beyond.shape[1]))

    def rows_after(self, after: int, arrivals: int) -> Ints:
        """Rows of a worker that has just got one, in phase ``after``, with 0 to ``arrivals`` arrivals more."""
        own = (after + np.arange(arrivals)) % self.phases < self.group
        return 1 + np.concatenate([[0], np.cumsum(own)])

"""The most that a worker can do for a stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dispatch.selection.greedy import NEARLY
from dispatch.selection.policy import Candidate

WAITS = 2.0
"""A query that comes just after a launch waits for that batch and runs in the next: two of them must be in time."""

STEADY = 0.9
"""The share of the objective that these may take on average: the rest is for batches that take longer than that, and
for the way back to the client. Under overload every query waits for two such batches."""

EQUALS = 1e-9


class Stride(NamedTuple):
    """The most rows per second of one variant: batches of ``rows``, two of which are in time."""

    candidate: Candidate
    rows: int

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.candidate.busy_s[self.rows]


@dataclass(frozen=True)
class Pace:
    """The highest throughput of a worker: ``variant`` in batches of ``batch_rows``.

    Each keeps it busy for ``batch_s`` on average.
    ``least_s[n]`` is the least time in which n rows have a result on some variant, n from 0 to ``batch_rows``, and
    ``least_busy_s[n]`` the least for which they keep the worker from the next batch. ``strides`` are of the variants of
    which two batches are in time, most accurate first.
    """

    variant: str
    batch_rows: int
    batch_s: float
    least_s: tuple[float, ...]
    least_busy_s: tuple[float, ...]
    strides: tuple[Stride, ...] = ()

    @classmethod
    def of(cls, candidates: Sequence[Candidate], slo_s: float) -> "Pace":
        """Of the batches of which two are within `STEADY` of ``slo_s``, those with the most rows per second.

        Where no two are, of those that are by themselves, and without any of those that take next to no longer than one
        row: where the way is most of the time, a row more costs nothing.
        """
        every = [(c, rows) for c in candidates for rows in range(1, c.max_batch + 1)]
        timely = [(c, rows) for c, rows in every if WAITS * c.latency_s[rows] <= STEADY * slo_s]
        timely = timely or [(c, rows) for c, rows in every if c.done_s[rows] <= slo_s]
        if not timely:
            limit_s = NEARLY * min(c.done_s[1] for c in candidates)
            timely = [(c, rows) for c, rows in every if c.done_s[rows] <= limit_s]
        best, rows = max(timely, key=_rate)
        holding = [[c for c in candidates if n <= c.max_batch] for n in range(1, rows + 1)]
        least_s = (min(c.done_s[n] for c in own) for n, own in enumerate(holding, start=1))
        least_busy_s = (min(c.busy_s[n] for c in own) for n, own in enumerate(holding, start=1))
        by_variant: dict[str, Stride] = {}
        for candidate, most in timely:
            stride, known = Stride(candidate, most), by_variant.get(candidate.variant)
            if known is None or _rate(stride) > _rate(known):
                by_variant[candidate.variant] = stride
        strides = tuple(by_variant.values())
        return cls(best.variant, rows, best.busy_s[rows], (0.0, *least_s), (0.0, *least_busy_s), strides)

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.batch_rows / self.batch_s

    def run_s(self, rows: int) -> float:
        """The least time until so many rows have results, in batches that follow one another."""
        if not rows:
            return 0.0
        before, last = divmod(rows - 1, self.batch_rows)
        return before * self.batch_s + self.least_s[last + 1]

    def busy_s(self, rows: int) -> float:
        """The least time for which so many rows keep the worker from others."""
        full, rest = divmod(rows, self.batch_rows)
        return full * self.batch_s + self.least_busy_s[rest]


def _rate(batch: Stride | tuple[Candidate, int]) -> float:
    """Rows per second; of equals the larger batch is first."""
    candidate, rows = batch
    return rows / candidate.busy_s[rows] * (1.0 + EQUALS * rows)

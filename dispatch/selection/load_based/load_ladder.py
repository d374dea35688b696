"""Selection by load alone: what the load-granular policies come to."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf

from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, Choice, QueueView

NAME = "load_ladder"
"""The policy whose rungs the user gives."""

_GREEDY = GreedySelection()


@dataclass(frozen=True)
class Rung:
    """``variant`` serves loads below ``below_qps``, of all workers together, in batches of up to ``max_rows``.

    ``planned_s`` is the latency of a batch of ``max_rows`` that the rung was made for, ``busy_s`` how long it was to
    keep a worker, and ``run_s`` its mean run alone.
    """

    below_qps: float
    variant: str
    max_rows: int
    planned_s: float
    busy_s: float
    run_s: float

    @classmethod
    def of(cls, candidate: Candidate, below_qps: float, max_rows: int) -> "Rung":
        """A rung with the candidate's own latency."""
        run_s = candidate.done_s[max_rows] - candidate.path_s
        return cls(
            below_qps, candidate.variant, max_rows, candidate.latency_s[max_rows], candidate.busy_s[max_rows], run_s
        )


@dataclass(frozen=True)
class LoadLadder:
    """A variant and a largest batch per range of loads, made for ``workers`` workers, whatever the queue's state.

    ``rungs`` ascend by load; the last is below infinity. With another number of workers the ladder is read at the same
    load per worker. Where a batch keeps the worker c times as long as its rung was made for, the rung bears 1/c of its
    load, since so does the worker; and batches that were to take at most half of ``slo_s`` become small enough to do
    so. ``by_runs``: loads are not from planned latencies but from a service that was there, of whose ways to workers
    nothing is known, and c is of runs alone. Where feedback leaves a share of the slack, the ladder is read at the load
    divided by that. Where the rung's variant is not among the candidates (not loaded, or failing), the greedy policy
    decides.
    """

    name: str
    workers: int
    slo_s: float
    rungs: tuple[Rung, ...]
    by_runs: bool = False

    @classmethod
    def of(
        cls, name: str, workers: int, candidates: Iterable[Candidate], slo_s: float, below_qps: dict[str, float]
    ) -> "LoadLadder":
        """The most accurate candidate that bears the load, up to what ``below_qps`` says of each by name.

        Above them all the fastest takes whatever waits, up to its largest batch, since nothing meets the objective then
        and large batches are the most efficient. Raises ValueError without candidates.
        """
        offered = sorted(candidates, key=lambda c: (-c.accuracy, c.latency_s[1], c.variant))
        if not offered:
            raise ValueError("no variants; give at least one candidate")
        fastest = min(offered, key=lambda c: c.latency_s[1])
        rungs: list[Rung] = []
        for candidate in offered:
            limit_qps = below_qps.get(candidate.variant, 0.0)
            if limit_qps > (rungs[-1].below_qps if rungs else 0.0):
                rungs.append(Rung.of(candidate, limit_qps, adaptive_batch(candidate, slo_s)))
        if not rungs or rungs[-1].below_qps < inf:
            rungs.append(Rung.of(fastest, inf, fastest.max_batch))
        return cls(name, workers, slo_s, tuple(rungs))

    @cached_property
    def _limits_qps(self) -> tuple[float, ...]:
        return tuple(rung.below_qps for rung in self.rungs[:-1])

    def at(self, load_qps: float) -> Rung:
        """What serves this load on all workers together, where latency is as planned."""
        return self.rungs[bisect_right(self._limits_qps, load_qps)]

    def choose(self, view: QueueView) -> Choice:
        """The rung's variant, with what waits up to its largest batch."""
        load_qps = view.load_qps / view.slack_share * self.workers / view.workers
        held = {candidate.variant: candidate for candidate in view.candidates}
        for rung in self.rungs:
            candidate = held.get(rung.variant)
            inflation = 1.0 if candidate is None else self._inflation(candidate, rung)
            if load_qps * inflation < rung.below_qps:
                break
        if candidate is None:
            return _GREEDY.choose(view)
        max_rows = rung.max_rows
        if inflation != 1.0 and rung.planned_s <= self.slo_s / 2.0:
            max_rows = min(max_rows, adaptive_batch(candidate, self.slo_s))
        return Choice(rung.variant, min(view.rows, max_rows))

    def _inflation(self, candidate: Candidate, rung: Rung) -> float:
        """How many times slower than planned the worker is."""
        rows = candidate.batch_rows(rung.max_rows)
        if self.by_runs:
            return (candidate.done_s[rows] - candidate.path_s) / rung.run_s
        return candidate.busy_s[rows] / rung.busy_s


def adaptive_batch(candidate: Candidate, slo_s: float) -> int:
    """The largest batch that takes at most half the objective, so that a batch may wait for another; at least 1."""
    rows = bisect_right(candidate.latency_s, slo_s / 2.0) - 1
    return max(rows, 1)

"""Selection by load alone: what the load-granular policies come to."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf

from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, Choice, QueueView

_GREEDY = GreedySelection()


@dataclass(frozen=True)
class Rung:
    """``variant`` serves loads below ``below_qps``, of all workers together, in batches of up to ``max_rows``."""

    below_qps: float
    variant: str
    max_rows: int


@dataclass(frozen=True)
class LoadLadder:
    """A variant and a largest batch per range of loads, made for ``workers`` workers, whatever the queue's state.

    ``rungs`` ascend by load; the last is below infinity. With another number of workers it is read at the same load
    per worker. Where its variant is not among the candidates (not loaded, or failing), the greedy policy decides.
    """

    name: str
    workers: int
    rungs: tuple[Rung, ...]

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
                rungs.append(Rung(limit_qps, candidate.variant, adaptive_batch(candidate, slo_s)))
        if not rungs or rungs[-1].below_qps < inf:
            rungs.append(Rung(inf, fastest.variant, fastest.max_batch))
        return cls(name, workers, tuple(rungs))

    @cached_property
    def _limits_qps(self) -> tuple[float, ...]:
        return tuple(rung.below_qps for rung in self.rungs[:-1])

    def at(self, load_qps: float) -> Rung:
        """What serves this load on all workers together."""
        return self.rungs[bisect_right(self._limits_qps, load_qps)]

    def choose(self, view: QueueView) -> Choice:
        """The rung's variant, with what waits up to its largest batch."""
        rung = self.at(view.load_qps * self.workers / view.workers)
        for candidate in view.candidates:
            if candidate.variant == rung.variant:
                return Choice(rung.variant, min(view.rows, rung.max_rows))
        return _GREEDY.choose(view)


def adaptive_batch(candidate: Candidate, slo_s: float) -> int:
    """The largest batch that takes at most half the objective, so that a batch may wait for another; at least 1."""
    rows = bisect_right(candidate.latency_s, slo_s / 2.0) - 1
    return max(rows, 1)

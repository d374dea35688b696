"""The latencies that a grid of tables is made for."""

from dataclasses import dataclass
from math import ceil, log

from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.policy import Candidate

RUN_STEP = 1.25
PATH_STEP = 1.35
TAIL_STEP = 1.2
"""Levels are these factors apart: what lies between two is read from the upper one in rescaled time."""

SHORTEST_PATH_S = 0.0005
ROUNDING = 1e-6


@dataclass(frozen=True, order=True)
class LatencyLevel:
    """Runs take ``run_factor`` times their profile on average, the way ``path_s``, and nearly all batches up to ``tail`` times
    what they take on average."""

    run_factor: float
    path_s: float
    tail: float

    @classmethod
    def above(cls, estimate: LatencyEstimate) -> "LatencyLevel":
        """The lowest level that is no faster than an estimate, for batches such as the recent ones."""
        run_s = estimate.typical_run_s
        path_s = max(estimate.path_s, SHORTEST_PATH_S)
        tail = estimate.tail_s(run_s) / max(estimate.mean_s(run_s), SHORTEST_PATH_S)
        return cls(
            run_factor=_up(estimate.run_factor, RUN_STEP),
            path_s=SHORTEST_PATH_S * _up(path_s / SHORTEST_PATH_S, PATH_STEP),
            tail=_up(max(tail, 1.0), TAIL_STEP),
        )

    def slower(self) -> "LatencyLevel":
        """The next level of the run."""
        return LatencyLevel(run_factor=self.run_factor * RUN_STEP, path_s=self.path_s, tail=self.tail)

    def faster(self) -> "LatencyLevel":
        """The level of the run before."""
        return LatencyLevel(run_factor=self.run_factor / RUN_STEP, path_s=self.path_s, tail=self.tail)

    def longer(self) -> "LatencyLevel":
        """The next level of the way."""
        return LatencyLevel(run_factor=self.run_factor, path_s=self.path_s * PATH_STEP, tail=self.tail)

    def mean_s(self, run_s: float) -> float:
        """Mean time of a batch whose profiled run takes ``run_s``."""
        return self.run_factor * run_s + self.path_s

    def candidate(self, offered: Candidate) -> Candidate:
        """A candidate of the plan at this level."""
        mean_s = (self.mean_s(run_s) for run_s in offered.runs_s[1:])
        busy_s = (0.0, *mean_s)
        return Candidate(
            variant=offered.variant,
            accuracy=offered.accuracy,
            latency_s=tuple(self.tail * each for each in busy_s),
            mean_s=busy_s,
            path_s=self.path_s,
        )


def _up(value: float, step: float) -> float:
    """The lowest power of ``step`` that is not below the value."""
    return float(step ** ceil(log(value) / log(step) - ROUNDING))

"""The latencies that decision tables are made for."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log

from dispatch.latency.estimate import LatencyEstimate

RUN_STEP = 1.04
PATH_STEP = 1.1
TAIL_STEP = 1.05
"""Levels are these factors apart: what lies between two is read from the upper one in rescaled time. That leaves the
load that can be borne, but not the spread: with tails 1.12 apart accuracy was 0.3 points lower at half of the capacity,
and two at 85% of it."""

SHORTEST_PATH_S = 0.0005
ROUNDING = 1e-6


@dataclass(frozen=True, order=True)
class LatencyLevel:
    """A rounded `LatencyEstimate`: the same model of run and way, with few values, so that tables can be kept.

    Runs take ``run_factor`` times their profile on average and nearly always up to ``run_tail`` times that; the way
    takes ``path_s`` on average and nearly always up to ``path_tail`` times that.
    """

    run_factor: float
    run_tail: float
    path_s: float
    path_tail: float

    @classmethod
    def above(cls, estimate: LatencyEstimate) -> "LatencyLevel":
        """The lowest level that is no faster than an estimate."""
        path_s = max(estimate.path_s, SHORTEST_PATH_S)
        return cls(
            run_factor=_up(estimate.run_factor, RUN_STEP),
            run_tail=_up(max(estimate.run_tail, 1.0), TAIL_STEP),
            path_s=SHORTEST_PATH_S * _up(path_s / SHORTEST_PATH_S, PATH_STEP),
            path_tail=_up(max(estimate.path_tail_s / path_s, 1.0), TAIL_STEP),
        )

    def inflated(self, run: float, path: float) -> "LatencyLevel":
        """A level further on: runs and way longer by about these factors, rounded up."""
        return LatencyLevel(
            run_factor=_up(self.run_factor * run, RUN_STEP),
            run_tail=self.run_tail,
            path_s=SHORTEST_PATH_S * _up(self.path_s / SHORTEST_PATH_S * path, PATH_STEP),
            path_tail=self.path_tail,
        )

    @cached_property
    def estimate(self) -> LatencyEstimate:
        """The level as an estimate, which corrects candidates."""
        return LatencyEstimate(
            run_factor=self.run_factor,
            run_tail=self.run_tail,
            path_s=self.path_s,
            path_tail_s=self.path_s * self.path_tail,
        )


def _up(value: float, step: float) -> float:
    """The lowest power of ``step`` that is not below the value."""
    return float(step ** ceil(log(value) / log(step) - ROUNDING))

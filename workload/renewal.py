"""Arrival processes with independent gaps, at a rate that may change in steps.

Each draws a process of rate one and stretches its time by the inverse of the cumulative rate. For Poisson
that is the exact process of that rate; for the others a step keeps the regularity and changes the mean gap.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from workload.rate import RateSchedule

Offsets = NDArray[np.float64]

MOST_QUERIES = 100_000_000
"""Of one run: their instants are all in memory."""

LEAST_SHAPE, MOST_SHAPE = 1e-3, 1e6
"""Of gamma gaps: below, next to all gaps are 0; above, they are even (`Uniform`)."""


@dataclass(frozen=True)
class Poisson:
    """Exponential gaps: many independent clients. The same seed gives the same instants."""

    schedule: RateSchedule
    seed: int

    @property
    def length_s(self) -> float:
        return self.schedule.length_s

    def times_s(self, duration_s: float) -> Offsets:
        rng = np.random.default_rng(self.seed)
        return _renewal(self.schedule, duration_s, rng.standard_exponential)


@dataclass(frozen=True)
class Gamma:
    """Gamma gaps; ``shape`` below 1 is burstier than Poisson, above 1 more regular, 1 is Poisson.

    The squared coefficient of variation of a gap is 1 / shape.
    """

    schedule: RateSchedule
    shape: float
    seed: int

    def __post_init__(self) -> None:
        if not LEAST_SHAPE <= self.shape <= MOST_SHAPE:
            raise ConfigError(
                f"gamma shape {self.shape:g}; give a value from {LEAST_SHAPE:g} to {MOST_SHAPE:g}, below 1 for bursts"
            )

    @property
    def length_s(self) -> float:
        return self.schedule.length_s

    def times_s(self, duration_s: float) -> Offsets:
        rng = np.random.default_rng(self.seed)
        return _renewal(self.schedule, duration_s, lambda count: rng.gamma(self.shape, 1.0 / self.shape, count))


@dataclass(frozen=True)
class Uniform:
    """Even gaps, the first query at the start."""

    schedule: RateSchedule

    @property
    def length_s(self) -> float:
        return self.schedule.length_s

    def times_s(self, duration_s: float) -> Offsets:
        edges_s, expected = expected_queries(self.schedule, duration_s)
        # the margin keeps a product like 0.1 * 30, a hair above 3, from adding a query at the very end
        positions = np.arange(np.ceil(expected[-1] - 1e-9))
        return np.interp(positions, expected, edges_s)


def expected_queries(schedule: RateSchedule, duration_s: float) -> tuple[Offsets, Offsets]:
    """See `RateSchedule.cumulative`; raises `ConfigError` for more queries than can be."""
    edges_s, expected = schedule.cumulative(duration_s)
    if not expected[-1] <= MOST_QUERIES:
        raise ConfigError(
            f"{expected[-1]:.3g} queries in {duration_s:g} s, and one run has at most {MOST_QUERIES}; lower the rate "
            "or the duration"
        )
    return edges_s, expected


def _renewal(schedule: RateSchedule, duration_s: float, draw: Callable[[int], Offsets]) -> Offsets:
    """Stretch a process whose gaps have mean one, drawn ``count`` at a time, onto the schedule."""
    edges_s, expected = expected_queries(schedule, duration_s)
    chunk = int(expected[-1] + 6 * np.sqrt(expected[-1])) + 16
    gaps = draw(chunk)
    while (positions := np.cumsum(gaps))[-1] < expected[-1]:
        gaps = np.concatenate([gaps, draw(chunk)])
    offsets_s: Offsets = np.interp(positions[positions < expected[-1]], expected, edges_s)
    return offsets_s

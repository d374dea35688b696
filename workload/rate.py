"""Rates that change in steps, as typed on the command line or read from a trace."""

import math
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError


@dataclass(frozen=True)
class RateStep:
    """``rate_qps`` queries per second for ``duration_s`` seconds; a rate of 0 is a pause."""

    rate_qps: float
    duration_s: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate_qps) and self.rate_qps >= 0):
            raise ConfigError(f"a rate of {self.rate_qps:g} queries per second; give a finite rate of at least 0")
        if not self.duration_s > 0:
            raise ConfigError(f"a rate step of {self.duration_s:g} s; give each step more than 0 seconds")


@dataclass(frozen=True)
class RateSchedule:
    """Steps one after the other; the last rate holds for as long as anyone asks."""

    steps: tuple[RateStep, ...]

    def __post_init__(self) -> None:
        if not any(step.rate_qps > 0 for step in self.steps):
            raise ConfigError("a schedule that never sends a query; give at least one step a rate above 0")

    @classmethod
    def constant(cls, rate_qps: float) -> "RateSchedule":
        """One rate without end."""
        return cls((RateStep(rate_qps, math.inf),))

    @classmethod
    def parse(cls, text: str) -> "RateSchedule":
        """Read ``50``, or ``50:10,400:10,50:10`` (rate:seconds); only the last step may leave out its seconds.

        Raises `ConfigError` quoting the step that is wrong.
        """
        parts = text.split(",")
        steps = []
        for number, part in enumerate(parts, start=1):
            rate, colon, seconds = part.partition(":")
            try:
                step = RateStep(float(rate), float(seconds) if colon else math.inf)
            except ValueError as error:
                raise ConfigError(
                    f"rate step {part!r} in {text!r}; write 50, or rate:seconds as in 50:10,400:10"
                ) from error
            if math.isinf(step.duration_s) and number < len(parts):
                raise ConfigError(f"rate step {part!r} in {text!r} never ends; give seconds to all steps but the last")
            steps.append(step)
        return cls(tuple(steps))

    @property
    def length_s(self) -> float:
        """Sum of the steps, in seconds; infinite where the last has no end."""
        return sum(step.duration_s for step in self.steps)

    @property
    def starts_s(self) -> tuple[float, ...]:
        """When each step begins, in seconds from the start."""
        return tuple(accumulate((step.duration_s for step in self.steps[:-1]), initial=0.0))

    def cumulative(self, duration_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corner instants in seconds up to ``duration_s``, and the expected number of queries by each."""
        starts_s = np.array(self.starts_s)
        kept = starts_s < duration_s
        edges_s = np.append(starts_s[kept], duration_s)
        rates_qps = np.array([step.rate_qps for step in self.steps])[kept]
        return edges_s, np.concatenate([[0.0], np.cumsum(rates_qps * np.diff(edges_s))])

"""Random run times that follow a latency profile."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from catalog.profiles.profile import LatencyProfile

Distribution = Literal["quantiles", "fixed", "normal", "lognormal"]

RECORDED = (0.5, 0.9, 0.95, 0.99)
LEVELS = np.array([0.0, *RECORDED, 1.0])
MEAN_WEIGHTS = np.convolve(np.diff(LEVELS), (0.5, 0.5))
"""What the value at each level counts for in the mean of a curve that is straight between them (trapezium rule)."""

Sample = Callable[[np.random.Generator], float]


class RunTimes:
    """Draws the run time of batches of any size from one generator.

    ``fixed`` is the mean. ``normal`` has the profile's mean and standard deviation, and a draw below 0 counts as 0.
    ``lognormal`` has the same mean and standard deviation. ``quantiles`` has the recorded ones (`quantile_curve`).
    Sizes that were not measured follow `LatencyProfile.latency_ms`.
    """

    def __init__(self, profile: LatencyProfile, distribution: Distribution, rng: np.random.Generator) -> None:
        self._profile = profile
        self._distribution = distribution
        self._rng = rng
        self._samples: dict[int, Sample] = {}

    def draw_s(self, rows: int) -> float:
        """Seconds of the next run, of ``rows`` rows; raises ValueError below 1 row."""
        sample = self._samples.get(rows)
        if sample is None:
            sample = self._samples[rows] = self._sample(rows)
        return sample(self._rng)

    def _sample(self, rows: int) -> Sample:
        mean_s, std_s = (self._profile.latency_ms(rows, name) / 1e3 for name in ("mean_ms", "std_ms"))
        if self._distribution == "fixed":
            return lambda rng: mean_s
        if self._distribution == "normal":
            return lambda rng: max(0.0, rng.normal(mean_s, std_s))
        if self._distribution == "lognormal":
            variance = math.log1p((std_s / mean_s) ** 2)
            mu, sigma = math.log(mean_s) - variance / 2, math.sqrt(variance)
            return lambda rng: rng.lognormal(mu, sigma)
        curve_s = quantile_curve(self._profile, rows) / 1e3
        return lambda rng: float(np.interp(rng.random(), LEVELS, curve_s))


def quantile_curve(profile: LatencyProfile, rows: int) -> NDArray[np.float64]:
    """Run time in milliseconds at `LEVELS`, [6]: the fastest run, p50, p90, p95, p99 and the slowest run.

    Between levels the curve is straight. The slowest run prolongs the line from p95 to p99. The fastest makes the
    curve's mean that of the profile, within 0 and p50; where p50 is not enough, slower slowest runs make up for it.
    """
    mean_ms = profile.latency_ms(rows, "mean_ms")
    recorded = [profile.latency_ms(rows, f"p{100 * level:.0f}_ms") for level in RECORDED]
    p50, p90, p95, p99 = np.maximum.accumulate(recorded)  # sizes between measured ones may cross by the fit
    curve = np.array([0.0, p50, p90, p95, p99, p99 + (p99 - p95) * (1 - 0.99) / (0.99 - 0.95)])
    curve[0] = np.clip((mean_ms - MEAN_WEIGHTS @ curve) / MEAN_WEIGHTS[0], 0.0, p50)
    curve[-1] += max(0.0, (mean_ms - MEAN_WEIGHTS @ curve) / MEAN_WEIGHTS[-1])
    return curve

"""Latency over the batch size as a quadratic, from a few sizes that were measured (IPA, section 4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError


@dataclass(frozen=True)
class LatencyFit:
    """l(b) = alpha b^2 + beta b + gamma seconds for a batch of b rows, up to ``largest_batch``, the largest measured.

    Beyond that it goes on as a line. It is above 0 everywhere, and never falls with the batch. ``error`` is the largest
    distance from what was measured, relative to that.
    """

    alpha: float
    beta: float
    gamma: float
    largest_batch: int
    error: float

    def latency_s(self, batch_rows: int) -> float:
        """What a batch takes; raises ValueError for less than one row."""
        if batch_rows < 1:
            raise ValueError(f"batch of {batch_rows} rows; ask for at least 1")
        rows = min(batch_rows, self.largest_batch)
        slope = 2.0 * self.alpha * rows + self.beta
        return max(self.alpha * rows**2 + self.beta * rows + self.gamma + slope * (batch_rows - rows), 0.0)


def fit_latency(latency_s: Mapping[int, float]) -> LatencyFit:
    """The quadratic with the least squared error among those that do not fall and grow no faster than b^2.

    That is, l(B) <= B^2 l(1) with B the largest size, as for all quadratics with factors of at least 0; so one row
    takes some time. Just these are u (b - 1)^2 + v ((B - 1)^2 - (B - b)^2) + w with u and v of at least 0 and w of at
    least (u + v) (B - 1) / (B + 1): u is for the slope at B, v for that at 1. Of the subsets of these terms whose plain
    least squares are not negative, one is the best. Through two sizes it is a line, where u = v; through one, the line
    from the origin, as in `LatencyProfile`.

    Raises `ConfigError` where nothing was measured, or what was measured is no batch or no time.
    """
    if not latency_s:
        raise ConfigError("no batch size was measured; measure at least one to fit a latency curve")
    for rows, seconds in latency_s.items():
        if rows < 1 or not (isfinite(seconds) and seconds > 0):
            raise ConfigError(f"a batch of {rows} rows in {seconds:g} s; sizes start at 1, times are above 0")
    sizes = np.array(sorted(latency_s), dtype=np.float64)
    measured_s = np.array([latency_s[int(size)] for size in sizes])
    largest = float(sizes[-1])
    if len(sizes) == 1:
        return LatencyFit(0.0, float(measured_s[0]) / largest, 0.0, int(largest), 0.0)
    terms = np.stack([(sizes - 1) ** 2, (largest - 1) ** 2 - (largest - sizes) ** 2, np.ones_like(sizes)], axis=1)
    if len(sizes) < 3:
        terms[:, :2] = terms[:, :2].sum(axis=1, keepdims=True) / 2.0
    least = (largest - 1) / (largest + 1)
    u, v, w = _non_negative(terms, measured_s)
    if w < least * (u + v):
        u, v, above = _non_negative(terms + np.array([least, least, 0.0]), measured_s)
        w = above + least * (u + v)
    if len(sizes) < 3:
        u = v = (u + v) / 2.0
    alpha, beta, gamma = u - v, 2 * (v * largest - u), u + v * (1 - 2 * largest) + w
    fitted_s = terms @ np.array([u, v, w])
    return LatencyFit(alpha, beta, gamma, int(largest), float((np.abs(fitted_s - measured_s) / measured_s).max()))


def _non_negative(terms: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Least squares with factors of at least 0, shape of ``terms`` is ``[values, 3]``."""
    best, least = np.zeros(3), inf
    scale = np.maximum(np.abs(terms).max(axis=0), 1e-12)
    for count in (1, 2, 3):
        for subset in combinations(range(3), count):
            own = list(subset)
            factors = np.linalg.lstsq(terms[:, own] / scale[own], values, rcond=None)[0] / scale[own]
            squares = float(((terms[:, own] @ factors - values) ** 2).sum())
            if (factors >= 0).all() and squares < least:
                best, least = np.zeros(3), squares
                best[own] = factors
    return float(best[0]), float(best[1]), float(best[2])

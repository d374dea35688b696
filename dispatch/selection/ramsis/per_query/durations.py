"""The lengths of time for which what comes next is worked out."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

MOST_NODES = 64
"""Values after launches are worked out for so many durations at most."""

SHARES = (*4 * (0.125,), *4 * (0.1,), *6 * (0.015,), 0.005, 0.003, 0.002)
"""Run times are in parts of their distribution with these shares, from the shortest to the longest, each with its mean.
They are fine in the tail: how seldom a run leaves the next batch no time for an accurate variant is what counts."""

LARGEST_SCALE = 0.6
"""Of a lognormal distribution whose 95th percentile is 2.2 times its mean. A percentile farther away comes of some runs
that were held up; as a lognormal it would mean that one run in 500 takes over ten times as long as usual, and tables
gave up accuracy for that."""


@dataclass(frozen=True, eq=False)
class Durations:
    """Durations ``nodes_s``, ascending, and for each launch the shares of the nodes that stand for how long it takes.

    Few distinct durations are nodes themselves. Of many, nodes are every so-manyth, and values in between linear, which
    keeps the mean of what arrives.
    """

    nodes_s: Floats
    shares: csr_array

    @classmethod
    def of(cls, mean_s: Floats, tail_s: Floats | None = None, late_share: float = 0.0) -> "Durations":
        """Nodes for launches that take so long on average, and longer than ``tail_s`` with probability ``late_share``.

        Run times are taken to be lognormal, of `LARGEST_SCALE` at most, in parts by `SHARES`, which keep their mean.
        Without a tail, or where nothing is said of how often it is exceeded, every run takes its mean.
        """
        points_s, weights = mean_s[:, None], np.ones((1, 1))
        if tail_s is not None and late_share > 0.0:
            scale = np.minimum(lognormal_scale(mean_s, tail_s, late_share), LARGEST_SCALE)
            points_s, weights = _parts(mean_s, scale), np.array([SHARES])
        nodes_s = np.unique(points_s)
        if len(nodes_s) > MOST_NODES:
            nodes_s = np.unique(np.quantile(nodes_s, np.linspace(0.0, 1.0, MOST_NODES)))
        below = np.clip(np.searchsorted(nodes_s, points_s, side="right") - 1, 0, max(len(nodes_s) - 2, 0))
        above = np.minimum(below + 1, len(nodes_s) - 1)
        width_s = np.maximum(nodes_s[above] - nodes_s[below], np.finfo(np.float64).tiny)
        up = np.where(above > below, (points_s - nodes_s[below]) / width_s, 0.0)
        shares = np.concatenate([weights * (1.0 - up), weights * up], axis=1).ravel()
        nodes = np.concatenate([below, above], axis=1).ravel()
        launch = np.repeat(np.arange(len(mean_s)), 2 * points_s.shape[1])
        return cls(nodes_s, csr_array((shares, (launch, nodes)), shape=(len(mean_s), len(nodes_s))))

    def interpolate(self, values: Floats) -> Floats:
        """Expected values by launch, from values by node on axis 0."""
        return np.asarray(self.shares @ values)


def _parts(mean_s: Floats, scale: Floats) -> Floats:
    """Mean of each part of lognormal distributions with these means, as [launch, part]: up to a quantile, the share of
    the mean that lies below it is the normal distribution's at that quantile less the scale."""
    quantiles = ndtri(np.cumsum(SHARES)[:-1])
    below = ndtr(quantiles[None, :] - scale[:, None])
    of_mean = np.diff(below, axis=1, prepend=0.0, append=1.0)
    parts_s = mean_s[:, None] * of_mean / np.array(SHARES)
    return np.where(scale[:, None] > 0.0, parts_s, mean_s[:, None])  # of equal ones no two may differ by rounding


def lognormal_scale(mean_s: Floats, tail_s: Floats, late_share: float) -> Floats:
    """Scale of the lognormal distributions with these means that exceed ``tail_s`` with that probability.

    The smaller of the two there are; where there is none, since the tail is too far away, the one that comes nearest.
    """
    z = max(NormalDist().inv_cdf(1.0 - late_share), 0.0)
    log_ratio = np.log(np.maximum(tail_s / mean_s, 1.0))
    return np.asarray(z - np.sqrt(np.maximum(z * z - 2.0 * log_ratio, 0.0)))

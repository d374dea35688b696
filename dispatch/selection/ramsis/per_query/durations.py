"""The lengths of time for which what comes next is worked out."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]

MOST_NODES = 64
"""Values after launches are worked out for so many durations at most."""

QUADRATURE = ((-math.sqrt(3.0), 1.0 / 6.0), (0.0, 2.0 / 3.0), (math.sqrt(3.0), 1.0 / 6.0))
"""Points and weights of the Gauss-Hermite rule that is exact for polynomials of degree five in a normal variable."""


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

        Run times are taken to be lognormal, by three durations each, whose mean is kept. Without a tail, or where
        nothing is said of how often it is exceeded, every run takes its mean.
        """
        points_s, weights = mean_s[:, None], np.ones((1, 1))
        if tail_s is not None and late_share > 0.0:
            scale = lognormal_scale(mean_s, tail_s, late_share)
            standard, weights = (np.array(column)[None, :] for column in zip(*QUADRATURE, strict=True))
            spread = np.exp(scale[:, None] * standard)
            points_s = mean_s[:, None] * spread / np.sum(weights * spread, axis=1, keepdims=True)
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


def lognormal_scale(mean_s: Floats, tail_s: Floats, late_share: float) -> Floats:
    """Scale of the lognormal distributions with these means that exceed ``tail_s`` with that probability.

    The smaller of the two there are; where there is none, since the tail is too far away, the one that comes nearest.
    """
    z = max(NormalDist().inv_cdf(1.0 - late_share), 0.0)
    log_ratio = np.log(np.maximum(tail_s / mean_s, 1.0))
    return np.asarray(z - np.sqrt(np.maximum(z * z - 2.0 * log_ratio, 0.0)))

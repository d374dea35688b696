"""The lengths of time for which what comes next is worked out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_NODES = 64
"""Values after launches are worked out for so many durations at most."""


@dataclass(frozen=True, eq=False)
class Durations:
    """Durations ``nodes_s``, ascending, and for each launch the one below it and its ``share`` of the way to the next.

    Few distinct latencies are nodes themselves. Of many, nodes are every so-manyth, and values in between linear, which
    keeps the mean of what arrives.
    """

    nodes_s: Floats
    below: NDArray[np.intp]
    share: Floats

    @classmethod
    def of(cls, latency_s: Floats) -> "Durations":
        """Nodes for these latencies."""
        nodes_s = np.unique(latency_s)
        if len(nodes_s) > MOST_NODES:
            nodes_s = np.unique(np.quantile(nodes_s, np.linspace(0.0, 1.0, MOST_NODES)))
        below = np.clip(np.searchsorted(nodes_s, latency_s, side="right") - 1, 0, max(len(nodes_s) - 2, 0))
        above = np.minimum(below + 1, len(nodes_s) - 1)
        width_s = np.maximum(nodes_s[above] - nodes_s[below], np.finfo(np.float64).tiny)
        return cls(nodes_s, below, np.where(above > below, (latency_s - nodes_s[below]) / width_s, 0.0))

    def interpolate(self, values: Floats) -> Floats:
        """Values by launch, from values by node on axis 0."""
        above = np.minimum(self.below + 1, len(self.nodes_s) - 1)
        low = values[self.below]
        return np.asarray(low + self.share[:, None] * (values[above] - low))

"""Whole queries of loads that are no whole numbers."""

import numpy as np
from numpy.typing import NDArray


def whole_counts(loads: NDArray[np.float64]) -> NDArray[np.int64]:
    """Queries of each step, whose sum up to any step is that of ``loads`` [steps], rounded: no load gets lost."""
    counts: NDArray[np.int64] = np.diff(np.rint(np.cumsum(loads)), prepend=0.0).astype(np.int64)
    return counts

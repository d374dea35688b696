"""Quantiles for models that only give one number."""

import numpy as np
from numpy.typing import NDArray

from forecast.forecaster import LEVELS, Forecast

LEAST_QPS = 1.0
"""Loads below this one are off by a difference, not by a factor."""


def ratios(truth_qps: NDArray[np.float64], point_qps: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much the truth was above the point forecast, at each level: empirical quantiles of their ratio.

    Shape ``[len(LEVELS)]``. Take them from origins that the model did not learn from, or they are too narrow.
    """
    found: NDArray[np.float64] = np.quantile((truth_qps + LEAST_QPS) / (point_qps + LEAST_QPS), LEVELS)
    return found


def spread(point_qps: NDArray[np.float64], ratios: NDArray[np.float64]) -> Forecast:
    """The forecast whose quantiles are as far from the point as those that were."""
    point = np.maximum(point_qps, 0.0)
    return Forecast(np.maximum((point[:, None] + LEAST_QPS) * ratios - LEAST_QPS, 0.0), point)

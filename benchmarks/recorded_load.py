"""The load that a benchmark is given in a file."""

import numpy as np
from numpy.typing import NDArray

from forecast.series.file import read_series
from forecast.series.report import SeriesReport
from forecast.series.series import LoadSeries

LEAST_STEPS = 10
MOST_OF_ALL = 0.05
"""Zeros are no loads where they are this part of the steps at most, and always so many of them in a row: whoever wrote
the file down stood still then. A load with seconds without a query has single ones, one that pauses has more."""


def read_recorded(where: str) -> tuple[LoadSeries, SeriesReport]:
    """See `read_series`; zeros are gaps where they look like those of a recorder that stood still, such as the 54 of
    half an hour each at most in the 18 days of the shared data, else they are loads."""
    series, report = read_series(where)
    if _of_the_recorder(series.loads_qps == 0):
        return read_series(where, zeros_are_gaps=True)
    return series, report


def _of_the_recorder(zero: NDArray[np.bool_]) -> bool:
    edges = np.flatnonzero(np.diff(zero, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    return 0 < zero.sum() <= MOST_OF_ALL * len(zero) and bool(lengths.min() >= LEAST_STEPS)

"""A small load with a burst at the same minute of every other hour."""

import numpy as np

from benchmarks.forecast_value.parts import Kind, Part, choose
from forecast.series.series import LoadSeries

HOUR_S, DAY_S = 3600, 86_400
CALM_QPS, BURST_QPS = 4, 24
BURST_AT_S, BURST_S = 1200, 400


def bursts_every_other_hour(days: int) -> LoadSeries:
    """A whole number of queries each second, a burst in hours 1, 3, ... of the day."""
    seconds = np.arange(days * DAY_S)
    within = seconds % (2 * HOUR_S) - HOUR_S
    calm = CALM_QPS + (seconds % 7 == 0)
    return LoadSeries.regular(
        np.where((within >= BURST_AT_S) & (within < BURST_AT_S + BURST_S), BURST_QPS, calm).astype(np.float64)
    )


def some_parts(series: LoadSeries, from_s: int, until_s: int, bursty: int = 1, diurnal: int = 1) -> list[Part]:
    """Hours of a span."""
    wanted: dict[Kind, int] = {"bursty": bursty, "diurnal": diurnal}
    return list(choose(series, from_s, until_s, wanted, seed=0).parts)

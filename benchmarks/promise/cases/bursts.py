"""The strongest burst of a recorded load, or one that is made up, second by second."""

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from forecast.series.series import LoadSeries
from workload.rate import RateSchedule, RateStep

PEAK_S = 3
"""A burst is as high as the mean of its highest so many seconds."""

LEAST_OF_USUAL, LOW = 2.0, 0.25
"""A burst rises to this many times the series' median or more; where nothing does, as the load is high for most of
the time, to as many times this quantile and what was there before. What comes back after an outage is no burst."""

LEAST_SECONDS = 12


def strongest_excerpt(series: LoadSeries, seconds: int) -> NDArray[np.float64]:
    """The ``seconds`` in a row, none without a load, in which the load rises to the largest multiple.

    The multiple is that of the highest mean of `PEAK_S` seconds that lie between the first third and the last quarter,
    over the mean of the first third. Raises `ConfigError` where no burst was recorded without a gap.
    """
    third, latest = seconds // 3, 3 * seconds // 4
    loads_qps = series.loads_qps
    count = len(loads_qps) - seconds + 1
    if series.step_s != 1 or seconds < LEAST_SECONDS or count < 1:
        raise ConfigError(
            f"a burst of {seconds} s from {len(loads_qps)} steps of {series.step_s} s; give a series with steps of 1 s "
            f"that is longer, and at least {LEAST_SECONDS} s"
        )
    totals = np.concatenate([[0.0], np.cumsum(loads_qps)])
    before_qps = (totals[third : third + count] - totals[:count]) / third
    highest = np.zeros(count)
    for offset in range(third, latest - PEAK_S + 1):
        sums = totals[offset + PEAK_S : offset + PEAK_S + count] - totals[offset : offset + count]
        highest = np.maximum(highest, sums)
    whole = series.times_s[seconds - 1 :] - series.times_s[:count] == seconds - 1
    positive = np.convolve(loads_qps <= 0, np.ones(seconds), "valid") < 0.5
    usable = whole & positive & (highest / PEAK_S >= LEAST_OF_USUAL * np.median(loads_qps))
    if not usable.any():
        low_qps = np.maximum(before_qps, np.quantile(loads_qps, LOW))
        usable = whole & positive & (highest / PEAK_S >= LEAST_OF_USUAL * low_qps)
    if not usable.any():
        raise ConfigError(
            f"the series has no {seconds} s in a row, all with a load, in which it rises to {LEAST_OF_USUAL:g} times "
            "its median or lowest quarter; give another one"
        )
    ratio = np.where(usable, highest / PEAK_S / np.maximum(before_qps, 1e-9), 0.0)
    start = int(np.argmax(ratio))
    return loads_qps[start : start + seconds].astype(np.float64)


def made_up_excerpt(seconds: int, seed: int) -> NDArray[np.float64]:
    """A fifth of the peak for the first 40%, a rise within five seconds, and the peak; 5% of noise on every second."""
    rise_s = 5.0
    at_s = np.arange(seconds) - 0.4 * seconds
    level = np.clip(0.2 + 0.8 * at_s / rise_s, 0.2, 1.0)
    noise = 1.0 + 0.05 * np.random.default_rng(seed).standard_normal(seconds)
    excerpt: NDArray[np.float64] = level * np.clip(noise, 0.8, 1.2)
    return excerpt


def scaled(excerpt: NDArray[np.float64], peak_qps: float) -> RateSchedule:
    """Its highest second at ``peak_qps``, the others in proportion."""
    rates_qps = excerpt * (peak_qps / excerpt.max())
    return RateSchedule(tuple(RateStep(rate_qps, 1.0) for rate_qps in rates_qps.tolist()))


def rise_s(excerpt: NDArray[np.float64]) -> float:
    """When the burst begins: the start of the `PEAK_S` seconds over which the load rises the most."""
    return float(np.argmax(excerpt[PEAK_S:] - excerpt[:-PEAK_S]))

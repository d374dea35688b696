"""Origins of forecasts in a series, and what came after them.

An origin is a position: so many steps of the series are known. Context is counted in observed steps, whatever gaps
lie between them, so that a forecaster is of use again soon after a gap; what is forecast must lie in one piece right
after the origin, or it would not be as far away as it should.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from catalog.errors import BadSeries
from forecast.series.series import LoadSeries
from forecast.training.task import ForecastTask

Origins = NDArray[np.int64]


def origins(series: LoadSeries, task: ForecastTask, reach_s: int, every_s: int) -> Origins:
    """Origins ``every_s`` of observed steps apart with ``reach_s`` known before and the whole truth after them.

    Shape ``[origins]``, ascending; the first has just ``reach_s`` before it. May be empty.
    """
    task.check_step(series.step_s)
    reach, ahead = reach_s // series.step_s, task.horizon_s // series.step_s
    all_ = np.arange(reach, len(series) - ahead + 1, max(1, every_s // series.step_s), dtype=np.int64)
    all_ = all_[all_ > 0]
    whole = series.times_s[all_ + ahead - 1] - series.times_s[all_ - 1] == task.horizon_s
    found: Origins = all_[whole]
    return found


def targets(series: LoadSeries, task: ForecastTask, at: Origins) -> NDArray[np.float64]:
    """What was to be forecast at each origin, in queries per second; same shape as ``at``."""
    first, length = at + task.lead_s // series.step_s, task.window_s // series.step_s
    found: NDArray[np.float64] = statistic_of(series.loads_qps, task, length)[first]
    return found


def statistic_of(loads_qps: NDArray[np.float64], task: ForecastTask, length: int) -> NDArray[np.float64]:
    """The task's statistic of every ``length`` consecutive loads, by the position of the first."""
    if len(loads_qps) < length:
        raise BadSeries(f"{len(loads_qps)} steps are fewer than the {length} of one window; give a longer series")
    if task.statistic == "max":
        highest: NDArray[np.float64] = sliding_window_view(loads_qps, length).max(axis=1)
        return highest
    return block_means(loads_qps, length)


def block_means(loads_qps: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """The mean of every ``length`` consecutive loads, by the position of the first."""
    sums = np.concatenate(([0.0], np.cumsum(loads_qps)))
    means: NDArray[np.float64] = np.maximum(sums[length:] - sums[:-length], 0.0) / length
    return means

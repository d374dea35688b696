"""The load is what it was a day ago."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from forecast.forecaster import Fitting
from forecast.models.point_model import PointModel
from forecast.series.series import DAY_S, LoadSeries
from forecast.series.windows import Origins, statistic_of


class SeasonalNaive(PointModel):
    """The task's statistic over the same window of the day before, or of the newest day that was observed then.

    It needs no more history before an origin than its context (``reach_s``), and looks a day back where it is given
    that much. It remembers the load of the last day that it learned from, and goes back to that where the history
    before an origin is shorter. A time of day that was never observed has the middle of all others.
    """

    name: ClassVar[str] = "seasonal_naive"
    learned = ("day_qps",)

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """Remember the statistic of windows by the second of the day at which they begin, newest over older."""
        ahead = self.task.horizon_s // series.step_s
        self.day_qps = self._by_second(series, int(at[-1]) + ahead)

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        step_s, length = series.step_s, self.task.window_s // series.step_s
        begins_s = series.times_s[at - 1] + step_s + self.task.lead_s
        found = self.day_qps[begins_s % DAY_S // step_s]
        ago = np.searchsorted(series.times_s, begins_s - DAY_S)
        last = ago + length - 1
        whole = (ago > 0) | (series.times_s[0] == begins_s - DAY_S)
        whole &= (begins_s - DAY_S == series.times_s[np.minimum(ago, len(series) - 1)]) & (last < at)
        whole &= series.times_s[np.minimum(last, len(series) - 1)] == begins_s - DAY_S + (length - 1) * step_s
        if whole.any():
            if whole.sum() == 1:
                own = series.loads_qps[ago[whole][0] : ago[whole][0] + length]
                found[whole] = own.max() if self.task.statistic == "max" else own.mean()
            else:
                found[whole] = statistic_of(series.loads_qps, self.task, length)[ago[whole]]
        return found

    def _by_second(self, series: LoadSeries, until: int) -> NDArray[np.float64]:
        step_s, length = series.step_s, self.task.window_s // series.step_s
        values = statistic_of(series.loads_qps[:until], self.task, length)
        begins_s = series.times_s[: len(values)]
        whole = series.times_s[length - 1 : length - 1 + len(values)] - begins_s == (length - 1) * step_s
        by_second = np.full(-(-DAY_S // step_s), np.nan)
        by_second[begins_s[whole] % DAY_S // step_s] = values[whole]
        return np.where(np.isnan(by_second), np.nanmedian(by_second), by_second)

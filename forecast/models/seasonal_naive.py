"""The load is what it was a day ago."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from forecast.forecaster import Fitting
from forecast.models.point_model import LEAST_EXAMPLES, PointModel
from forecast.series.series import DAY_S, LoadSeries
from forecast.series.windows import Origins, statistic_of, targets


class SeasonalNaive(PointModel):
    """The task's statistic over the same window of the day before, or of the newest day that was observed then.

    It needs no more history before an origin than its context (``reach_s``), and looks a day back where it is given
    that much. It remembers the load of the last day that it learned from, and goes back to that where the history
    before an origin is shorter. A time of day that was never observed has the middle of all others.

    How far it is off is known only of times of day that it had observed before. A history that has too few of these,
    about a day or less, gives quantiles that are as far from the point as its loads are from their middle.
    """

    name: ClassVar[str] = "seasonal_naive"
    learned = ("day_qps",)

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """Remember the statistic of windows by the second of the day at which they begin, newest over older."""
        ahead = self.task.horizon_s // series.step_s
        day_qps = self._by_second(series, int(at[-1]) + ahead)
        self._observed = ~np.isnan(day_qps)
        self.day_qps = np.where(self._observed, day_qps, np.nanmedian(day_qps))

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        length = self.task.window_s // series.step_s
        found = self.day_qps[self._begins_s(series, at) % DAY_S // series.step_s]
        ago, whole = self._day_before(series, at)
        if whole.any():
            if whole.sum() == 1:
                own = series.loads_qps[ago[whole][0] : ago[whole][0] + length]
                found[whole] = own.max() if self.task.statistic == "max" else own.mean()
            else:
                found[whole] = statistic_of(series.loads_qps, self.task, length)[ago[whole]]
        return found

    def points_to_measure(
        self, series: LoadSeries, at: Origins, held_out: Origins
    ) -> tuple[Origins, NDArray[np.float64]]:
        """See `PointModel.points_to_measure`."""
        observed = self._observed[self._begins_s(series, held_out) % DAY_S // series.step_s]
        observed |= self._day_before(series, held_out)[1]
        if observed.sum() >= LEAST_EXAMPLES:
            return held_out[observed], self.points(series, held_out[observed])
        return at, np.full(len(at), np.median(targets(series, self.task, at)))

    def _day_before(self, series: LoadSeries, at: Origins) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where the windows of the day before begin, and whether they were observed in one piece."""
        step_s, length = series.step_s, self.task.window_s // series.step_s
        begins_s = self._begins_s(series, at)
        ago = np.searchsorted(series.times_s, begins_s - DAY_S)
        last = ago + length - 1
        whole = (ago > 0) | (series.times_s[0] == begins_s - DAY_S)
        whole &= (begins_s - DAY_S == series.times_s[np.minimum(ago, len(series) - 1)]) & (last < at)
        whole &= series.times_s[np.minimum(last, len(series) - 1)] == begins_s - DAY_S + (length - 1) * step_s
        return ago, whole

    def _by_second(self, series: LoadSeries, until: int) -> NDArray[np.float64]:
        """NaN for times of day that were not observed."""
        step_s, length = series.step_s, self.task.window_s // series.step_s
        values = statistic_of(series.loads_qps[:until], self.task, length)
        begins_s = series.times_s[: len(values)]
        whole = series.times_s[length - 1 : length - 1 + len(values)] - begins_s == (length - 1) * step_s
        by_second = np.full(-(-DAY_S // step_s), np.nan)
        by_second[begins_s[whole] % DAY_S // step_s] = values[whole]
        return by_second

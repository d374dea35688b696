"""The load is what it always was."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from forecast.forecaster import Fitting
from forecast.models.point_model import PointModel
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, targets


class Constant(PointModel):
    """The middle of all targets of the history, whatever the load is now."""

    name: ClassVar[str] = "constant"
    learned = ("level_qps",)

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """See `PointModel.learn`."""
        middle = np.median if self.task.point == "median" else np.mean
        self.level_qps = np.array(middle(targets(series, self.task, at)))

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        return np.full(len(at), float(self.level_qps))

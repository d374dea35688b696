"""Forecasts that go on as it was lately: averages of the recent past, and the line through it."""

from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from forecast.forecaster import Fitting
from forecast.models.point_model import PointModel
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, block_means, targets
from forecast.training.task import ForecastTask

HALF_LIFE_BLOCKS = 1.0
"""Of the weights of the exponentially weighted average: it follows quickly, as reactive autoscalers do."""


class Recent(PointModel):
    """A weighting of the means of the context's blocks, times what the task's statistic is above a mean."""

    learned = ("factor",)

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """The maximum of a window lies above its mean by a factor: the one that is right in the middle."""
        means = self._weighted(series, at)
        known = means > 0
        truth = targets(series, self.task, at)
        self.factor = np.array(
            np.median(truth[known] / means[known]) if self.task.statistic == "max" and known.any() else 1.0
        )

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        return self._weighted(series, at) * float(self.factor)

    def weights(self) -> NDArray[np.float64]:
        """Of each block of the context, oldest first; their sum is 1."""
        raise NotImplementedError

    def _weighted(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        weighted: NDArray[np.float64] = np.maximum(context(series, at, self.task) @ self.weights(), 0.0)
        return weighted


class MovingAverage(Recent):
    """All blocks of the context count alike (Cocktail's MWA, Table 4)."""

    name: ClassVar[str] = "moving_average"

    def weights(self) -> NDArray[np.float64]:
        """See `Recent.weights`."""
        return np.full(self.task.blocks, 1 / self.task.blocks)


class EWMA(Recent):
    """Newer blocks count more, each twice as much as the one `HALF_LIFE_BLOCKS` before (Cocktail, Table 4)."""

    name: ClassVar[str] = "ewma"

    def weights(self) -> NDArray[np.float64]:
        """See `Recent.weights`."""
        weights: NDArray[np.float64] = 0.5 ** (np.arange(self.task.blocks)[::-1] / HALF_LIFE_BLOCKS)
        weights /= weights.sum()
        return weights


class Trend(Recent):
    """The straight line through the context's blocks, drawn on to the middle of the window.

    What predictive autoscalers call linear regression when they fit it anew to the last minutes. Of one block it is
    the block's mean.
    """

    name: ClassVar[str] = "trend"

    def weights(self) -> NDArray[np.float64]:
        """See `Recent.weights`; some are below 0."""
        task = self.task
        if task.blocks == 1:
            return np.ones(1)
        middles_s = (np.arange(task.blocks) + 0.5) * task.block_s - task.context_s
        design = np.stack([np.ones(task.blocks), middles_s])
        ahead = np.array([1.0, task.lead_s + task.window_s / 2])
        line: NDArray[np.float64] = ahead @ np.linalg.pinv(design.T)
        return line


def context(series: LoadSeries, at: Origins, task: ForecastTask) -> NDArray[np.float64]:
    """Mean load of each block of the context before each origin, shape ``[origins, blocks]``, oldest first."""
    length = task.block_s // series.step_s
    if len(at) == 1:
        known = series.loads_qps[at[0] - task.context_s // series.step_s : at[0]]
        own: NDArray[np.float64] = known.reshape(1, task.blocks, length).mean(axis=2)
        return own
    means = block_means(series.loads_qps, length)
    blocks = sliding_window_view(means, (task.blocks - 1) * length + 1)[:, ::length]
    found: NDArray[np.float64] = blocks[at - task.context_s // series.step_s]
    return found

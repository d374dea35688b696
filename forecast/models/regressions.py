"""Regressions on the blocks of the context, fitted once to the whole history."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression

from forecast.forecaster import Fitting
from forecast.models.averages import context
from forecast.models.point_model import PointModel
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, targets

HEADROOM = 1.2
"""The logistic regression can forecast so many times the highest load that it has seen."""


class Linear(PointModel):
    """Least squares on the means of the context's blocks."""

    name: ClassVar[str] = "linear"
    learned = ("weights", "bias")

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """See `PointModel.learn`."""
        fitted = LinearRegression().fit(context(series, at, self.task), targets(series, self.task, at))
        self.weights, self.bias = fitted.coef_, np.array(fitted.intercept_)

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        found: NDArray[np.float64] = context(series, at, self.task) @ self.weights + float(self.bias)
        return found


class Logistic(PointModel):
    """The share of the highest load that there may be, by a logistic regression on the context's blocks.

    A share y is learned as that many examples of 1 and 1 - y of 0: the fractional logit of Papke and Wooldridge (1996).
    """

    name: ClassVar[str] = "logistic"
    learned = ("weights", "bias", "most_qps")

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """See `PointModel.learn`."""
        seen, truth = context(series, at, self.task), targets(series, self.task, at)
        most = max(float(truth.max()), float(seen.max())) * HEADROOM or 1.0
        self.most_qps = np.array(most)
        share = truth / most
        fitted = LogisticRegression(max_iter=1000).fit(
            np.concatenate([seen, seen]) / most,
            np.repeat([1, 0], len(share)),
            sample_weight=np.concatenate([share, 1 - share]),
        )
        self.weights, self.bias = fitted.coef_[0], fitted.intercept_

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        odds = context(series, at, self.task) / float(self.most_qps) @ self.weights + float(self.bias[0])
        found: NDArray[np.float64] = float(self.most_qps) / (1 + np.exp(-odds))
        return found

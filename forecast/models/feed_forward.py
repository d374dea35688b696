"""A simple feed-forward network (Cocktail, Table 4)."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPRegressor

from forecast.forecaster import Fitting
from forecast.models.averages import context
from forecast.models.point_model import PointModel
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, targets

HIDDEN = (32, 32)
EPOCHS = 30
BATCH = 256


class FeedForward(PointModel):
    """Two hidden layers over the means of the context's blocks, least squares on a logarithmic or the load's own scale.

    Squared errors of the logarithm give about the median, those of the load the mean.
    """

    name: ClassVar[str] = "feed_forward"
    learned = ("level", "unit_qps", *(f"{kind}_{layer}" for layer in range(len(HIDDEN) + 1) for kind in ("w", "b")))
    once = True

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """See `PointModel.learn`."""
        truth = targets(series, self.task, at)
        self.level = np.array(np.log1p(truth).mean())
        self.unit_qps = np.array(max(float(truth.mean()), 1.0))
        seen = self._seen(series, at)
        wanted = truth / self.unit_qps - 1 if self.task.point == "mean" else np.log1p(truth) - self.level
        network = MLPRegressor(hidden_layer_sizes=HIDDEN, random_state=fitting.seed, batch_size=min(BATCH, len(seen)))
        for epoch in range(EPOCHS):
            network.partial_fit(seen, wanted)
            fitting.report(epoch + 1, EPOCHS, float(network.loss_))
        for layer, (weights, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
            setattr(self, f"w_{layer}", weights)
            setattr(self, f"b_{layer}", bias)

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        values = self._seen(series, at)
        for layer in range(len(HIDDEN) + 1):
            values = values @ getattr(self, f"w_{layer}") + getattr(self, f"b_{layer}")
            if layer < len(HIDDEN):
                values = np.maximum(values, 0.0)
        out = values[:, 0]
        found: NDArray[np.float64] = (
            (out + 1) * float(self.unit_qps) if self.task.point == "mean" else np.expm1(out + float(self.level))
        )
        return found

    def _seen(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        seen: NDArray[np.float64] = np.log1p(context(series, at, self.task)) - float(self.level)
        return seen

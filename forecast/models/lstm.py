"""The LSTM of IPA's predictor (section 3): one layer of 25 units and a dense layer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from forecast.forecaster import Fitting, State
from forecast.models.point_model import LEAST_EXAMPLES, PointModel, not_fitted
from forecast.models.sequence_model import AT_ONCE, arrays_of, fitted, read, sequence_reach_s, stretch, take_arrays
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, targets
from forecast.training.features import Features
from forecast.training.sequences import Stretches
from forecast.training.task import ForecastTask

UNITS = 25

LEAST_UNIT_QPS = 1.0


class LSTM(PointModel):
    """Reads the context block by block, and what the clock says; remembers no surges beyond the context.

    It learns the median by the absolute error of the logarithm of the load, the mean by the squared error of the load,
    counted in the mean of the targets that it learns from.
    """

    name: ClassVar[str] = "lstm"
    once = True

    def __init__(self, task: ForecastTask) -> None:
        super().__init__(task)
        self._features: Features | None = None
        self._network: LSTMNetwork | None = None

    @property
    def reach_s(self) -> int:
        """See `Forecaster`."""
        return sequence_reach_s(self.task, Features(self._own_task, 0.0, 0.0))

    @property
    def least_older(self) -> int:
        """Those of one stretch."""
        return max(LEAST_EXAMPLES, stretch(self.task) - self.task.blocks + 1)

    @property
    def _own_task(self) -> ForecastTask:
        return replace(self.task, memory_s=0)

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """See `PointModel.learn`."""
        known = series.slice(0, int(at[-1]) + self.task.horizon_s // series.step_s)
        features = Features.of(known, self._own_task)
        unit_qps = max(float(targets(known, self.task, at).mean()), LEAST_UNIT_QPS)
        self._network = fitted(lambda: LSTMNetwork(features, unit_qps), known, features, stretch(self.task), fitting)
        self._features = features

    @torch.inference_mode()
    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """See `PointModel.points`."""
        if self._network is None or self._features is None:
            raise not_fitted(self.name)
        found = [
            self._network.last_qps(read(series, at[first : first + AT_ONCE], self._features, self.task.blocks)).numpy()
            for first in range(0, len(at), AT_ONCE)
        ]
        return np.concatenate(found).astype(np.float64) if found else np.zeros(0)

    def state(self) -> State:
        """See `Forecaster.state`."""
        arrays, _ = super().state()
        assert self._network is not None
        assert self._features is not None
        values = {"level": self._features.level, "unit_qps": self._network.unit_qps}
        return arrays | arrays_of(self._network), values

    def restore(self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        """See `Forecaster.restore`."""
        super().restore(arrays, values)
        self._features = Features(self._own_task, values["level"], 0.0)
        # models from before the unit was saved counted in this one
        unit_qps = values.get("unit_qps", float(np.exp(values["level"])))
        self._network = LSTMNetwork(self._features, unit_qps)
        take_arrays(self._network, arrays)


class LSTMNetwork(torch.nn.Module):
    """One number at every block; a mean is counted in ``unit_qps``."""

    def __init__(self, features: Features, unit_qps: float) -> None:
        super().__init__()
        self.unit_qps = unit_qps
        self._level = features.level
        self._mean = features.task.point == "mean"
        self._warm_up = features.task.blocks // 2
        self.lstm = torch.nn.LSTM(features.width, UNITS, batch_first=True)
        self.dense = torch.nn.Linear(UNITS, 1)

    def loss(self, batch: Stretches) -> torch.Tensor:
        """The error at all origins of the stretches but the first few, for which little is known."""
        out = self.dense(self.lstm(batch.features)[0])[..., 0]
        if self._mean:
            errors = (out - batch.truth_qps / self.unit_qps + 1) ** 2
        else:
            errors = (out - torch.log1p(batch.truth_qps) + self._level).abs()
        counted = batch.observed[:, self._warm_up :]
        total: torch.Tensor = (errors[:, self._warm_up :] * counted).sum() / counted.sum().clamp(min=1)
        return total

    def last_qps(self, features: torch.Tensor) -> torch.Tensor:
        """The load forecast at the last origin, shape ``[n]``, from features ``[n, blocks, features]``."""
        out = self.dense(self.lstm(features)[0][:, -1])[:, 0]
        return (out + 1) * self.unit_qps if self._mean else torch.expm1(out + self._level)

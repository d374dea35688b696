"""What models have in common that give one number and learn their spread from how far they were off."""

from collections.abc import Mapping
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries, NotFitted
from forecast.forecaster import Fitting, Forecast, State
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, origins, targets
from forecast.training.residuals import Ratios, at_clock, ratios, ratios_by_clock, spread
from forecast.training.task import ForecastTask

CALIBRATION = 0.2
"""The newest part of the history, which only the spread is learned from."""

LEAST_EXAMPLES = 20


class PointModel:
    """Fits on the older part of a history, takes its spread from how far it is off on the newest, and fits on all.

    Where the time of the hour tells how far it is off, the spread is by that: what begins every hour at the same
    second is in the upper quantiles before it comes. Models that take long leave out the last (``once``). Subclasses
    say how to ``learn``, and guess the ``points``.
    """

    name: ClassVar[str]
    learned: tuple[str, ...] = ()
    """Names of the attributes that are arrays and were learned."""

    once = False

    def __init__(self, task: ForecastTask) -> None:
        self.task = task
        self.ratios: Ratios | None = None
        self.ratios_by_clock: Ratios | None = None

    @property
    def reach_s(self) -> int:
        """See `Forecaster`."""
        return self.task.context_s

    @property
    def least_older(self) -> int:
        """How many examples the older part has at least."""
        return LEAST_EXAMPLES

    @property
    def least_s(self) -> int:
        """See `Forecaster`."""
        block_s = self.task.block_s
        older = self.least_older - 1 + ceil(self.task.horizon_s / block_s)
        return self.reach_s + self.task.horizon_s + (ceil(older / (1 - CALIBRATION)) - 1) * block_s

    def learn(self, series: LoadSeries, at: Origins, fitting: Fitting) -> None:
        """Fit to the targets at these origins; nothing to do for models without parameters."""

    def points(self, series: LoadSeries, at: Origins) -> NDArray[np.float64]:
        """One number per origin, in queries per second; may be negative, which counts as 0."""
        raise NotImplementedError

    def points_to_measure(
        self, series: LoadSeries, at: Origins, held_out: Origins
    ) -> tuple[Origins, NDArray[np.float64]]:
        """Origins with points whose ratios to the truth are the spread: the newest of ``at``, not learned from yet."""
        return held_out, self.points(series, held_out)

    def fit(self, series: LoadSeries, fitting: Fitting | None = None) -> None:
        """See `Forecaster.fit`."""
        found = origins(series, self.task, self.reach_s, self.task.block_s)
        ahead = self.task.horizon_s // series.step_s
        newest = found[int(len(found) * (1 - CALIBRATION))] if len(found) else 0
        older = found[found + ahead <= newest]
        if len(older) < LEAST_EXAMPLES:
            raise BadSeries(
                f"the series to learn from has {len(series) * series.step_s} s observed, and the older "
                f"{1 - CALIBRATION:.0%} of it makes {len(older)} examples of {LEAST_EXAMPLES} needed; give at least "
                f"{self.least_s} s in one piece, or a shorter context or window"
            )
        self.learn(series, older, fitting or Fitting())
        measured, points_qps = self.points_to_measure(series, found, found[found >= newest])
        truth_qps, point_qps = targets(series, self.task, measured), np.maximum(points_qps, 0.0)
        self.ratios = ratios(truth_qps, point_qps)
        begins_s = self._begins_s(series, measured)
        self.ratios_by_clock = ratios_by_clock(truth_qps, point_qps, begins_s, self.task.block_s)
        if not self.once:
            self.learn(series, found, fitting or Fitting())

    def predict(self, series: LoadSeries, at: Origins) -> Forecast:
        """See `Forecaster.predict`."""
        if self.ratios is None:
            raise not_fitted(self.name)
        check_reach(series, at, self.reach_s)
        if self.ratios_by_clock is None:
            return spread(self.points(series, at), self.ratios)
        return spread(self.points(series, at), at_clock(self.ratios_by_clock, self._begins_s(series, at)))

    def state(self) -> State:
        """See `Forecaster.state`."""
        if self.ratios is None:
            raise not_fitted(self.name)
        arrays = {"ratios": self.ratios} | {key: np.asarray(getattr(self, key)) for key in self.learned}
        return arrays | ({} if self.ratios_by_clock is None else {"ratios_by_clock": self.ratios_by_clock}), {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        """See `Forecaster.restore`."""
        for key in ("ratios", *self.learned):
            setattr(self, key, arrays[key])
        self.ratios_by_clock = arrays.get("ratios_by_clock")

    def _begins_s(self, series: LoadSeries, at: Origins) -> NDArray[np.int64]:
        """When the windows of forecasts at these origins begin."""
        found: NDArray[np.int64] = series.times_s[at - 1] + series.step_s + self.task.lead_s
        return found


def not_fitted(name: str) -> NotFitted:
    """The error of a forecaster that is asked too early."""
    return NotFitted(f"forecaster {name} was not fitted; call fit, or load one that was")


def check_reach(series: LoadSeries, at: Origins, reach_s: int) -> None:
    """Raise `BadSeries` where an origin lies outside, or has less history than the forecaster looks at."""
    if len(at) and int(at.min()) * series.step_s < reach_s:
        raise BadSeries(
            f"{int(at.min()) * series.step_s} s of history are known, but the forecaster looks {reach_s} s back; give "
            "more, or use a forecaster with a shorter context"
        )
    if len(at) and int(at.max()) > len(series):
        raise BadSeries(f"origin {int(at.max())} lies beyond the {len(series)} steps of the series; give none above")

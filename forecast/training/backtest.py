"""Backtests with a rolling origin: what a forecaster would have said at each origin, from what was known there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries, ConfigError
from forecast.forecaster import Forecast, Forecaster
from forecast.series.report import instant
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, origins, targets
from forecast.training.scores import Scores, score
from forecast.training.task import ForecastTask

AT_ONCE = 4096
"""Origins that are forecast at a time, so that memory is bounded."""


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts beside the truth. ``at``, ``at_s`` and ``truth_qps`` have shape ``[origins]``.

    ``at`` are positions of the series, ``at_s`` their instants: up to then the load was known.
    """

    at: Origins
    at_s: NDArray[np.int64]
    truth_qps: NDArray[np.float64]
    forecast: Forecast
    scores: Scores


def backtest(forecaster: Forecaster, series: LoadSeries, from_s: float, every_s: int, *, reach_s: int = 0) -> Backtest:
    """Forecast at origins from ``from_s`` on, ``every_s`` of observed steps apart, and compare with what came.

    At each there are as many steps as the forecaster looks at, or ``reach_s`` where that is more, so that forecasters
    of different reach can be tested at the same origins. The forecaster must not have learned from what came after
    ``from_s``. Raises `BadSeries` where there is no such origin.
    """
    at = origins_from(series, forecaster.task, max(reach_s, forecaster.reach_s), from_s, every_s)
    parts = [forecaster.predict(series, at[first : first + AT_ONCE]) for first in range(0, len(at), AT_ONCE)]
    forecast = Forecast(np.concatenate([p.quantiles for p in parts]), np.concatenate([p.point for p in parts]))
    truth_qps = targets(series, forecaster.task, at)
    at_s = series.times_s[at - 1] + series.step_s
    return Backtest(at, at_s, truth_qps, forecast, score(forecast, truth_qps))


def origins_from(series: LoadSeries, task: ForecastTask, reach_s: int, from_s: float, every_s: int) -> Origins:
    """Origins at ``from_s`` or later, ``every_s`` of observed steps apart; raises `BadSeries` where there is none.

    Raises `ConfigError` where ``every_s`` is no multiple of a step.
    """
    task.check_step(series.step_s)
    if every_s % series.step_s:
        raise ConfigError(
            f"forecasts are to be {every_s} s apart, but the series has steps of {series.step_s} s; give a multiple"
        )
    first = series.position(from_s)
    every = max(1, every_s // series.step_s)
    everywhere = origins(series, task, reach_s, series.step_s)
    found: Origins = everywhere[(everywhere >= first) & ((everywhere - first) % every == 0)]
    if not len(found):
        raise BadSeries(
            f"there is nothing to forecast from {instant(from_s)} on: the series ends {instant(series.end_s)}, and a "
            f"forecast takes {reach_s} s observed before it and {task.horizon_s} s in one piece after it; give an "
            "earlier instant, or a longer series"
        )
    return found

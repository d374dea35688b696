"""Backtests with a rolling origin: what a forecaster would have said at each origin, from what was known there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries
from forecast.forecaster import Fitting, Forecast, Forecaster
from forecast.scores import Scores, score
from forecast.series import LoadSeries
from forecast.series_report import instant
from forecast.task import ForecastTask
from forecast.windows import Origins, origins, targets

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


def split(series: LoadSeries, task: ForecastTask, train_until_s: float) -> tuple[LoadSeries, Origins]:
    """What a forecaster may learn from, and every origin that it may then be tested at.

    The first is every step before the instant. Nothing that is to be forecast at the origins lies in it; what is known
    at them may. Raises `BadSeries` where either is empty.
    """
    until = series.position(train_until_s)
    if not until:
        raise BadSeries(
            f"nothing lies before {instant(train_until_s)} to learn from, the series begins {instant(series.start_s)}; "
            "give a later instant"
        )
    return series.slice(0, until), origins_from(series, task, 0, train_until_s, series.step_s)


def backtest(
    forecaster: Forecaster,
    series: LoadSeries,
    from_s: float,
    every_s: int,
    *,
    reach_s: int = 0,
    refit_every_s: int | None = None,
    fitting: Fitting | None = None,
) -> Backtest:
    """Forecast at origins from ``from_s`` on, ``every_s`` of observed steps apart, and compare with what came.

    At each there are as many steps as the forecaster looks at, or ``reach_s`` where that is more, so that forecasters
    of different reach can be tested at the same origins. With ``refit_every_s`` the forecaster, fitted or not, is
    fitted anew at ``from_s`` and then every so many seconds, each time to all steps before; the checkpoint of
    ``fitting`` is not used then.

    Raises `BadSeries` where there is no such origin.
    """
    at = origins_from(series, forecaster.task, max(reach_s, forecaster.reach_s), from_s, every_s)
    at_s = series.times_s[at - 1] + series.step_s
    if refit_every_s is None:
        forecast = _predict(forecaster, series, at)
    else:
        parts = []
        turn = ((at_s - from_s) // refit_every_s).astype(np.int64)
        again = Fitting(seed=(fitting or Fitting()).seed)
        for number in np.unique(turn):
            known = series.position(from_s + int(number) * refit_every_s)
            forecaster.fit(series.slice(0, known), again)
            parts.append(_predict(forecaster, series, at[turn == number]))
        forecast = _joined(parts)
    truth_qps = targets(series, forecaster.task, at)
    return Backtest(at, at_s, truth_qps, forecast, score(forecast, truth_qps))


def origins_from(series: LoadSeries, task: ForecastTask, reach_s: int, from_s: float, every_s: int) -> Origins:
    """Origins at ``from_s`` or later, ``every_s`` of observed steps apart; raises `BadSeries` where there is none."""
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


def _predict(forecaster: Forecaster, series: LoadSeries, at: Origins) -> Forecast:
    return _joined([forecaster.predict(series, at[first : first + AT_ONCE]) for first in range(0, len(at), AT_ONCE)])


def _joined(parts: list[Forecast]) -> Forecast:
    return Forecast(np.concatenate([part.quantiles for part in parts]), np.concatenate([part.point for part in parts]))

"""Several forecasters on the same history, scored at the same origins."""

import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from forecast.forecaster import Fitting, Forecaster
from forecast.registry import make
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins
from forecast.training.backtest import backtest, origins_from
from forecast.training.task import ForecastTask

SINGLE_FORECASTS = 200


@dataclass(frozen=True)
class Comparison:
    """``models`` has the figures by name; all are of the same ``origins``, where the truth has ``mean_qps``."""

    origins: int
    mean_qps: float
    models: dict[str, dict[str, Any]]


def compare(
    series: LoadSeries,
    task: ForecastTask,
    every_s: int,
    train_end_s: float,
    test_from_s: float,
    models: tuple[str, ...],
    seed: int,
) -> Comparison:
    """Fit every model to what came before ``train_end_s``, and score it on what came from ``test_from_s`` on.

    One thread, as a server would leave to a forecaster. Raises `BadSeries` where there is too little of either.
    """
    torch.set_num_threads(1)
    forecasters = [make(name, task) for name in models]
    history = series.between(series.start_s, train_end_s)
    reach_s = max(each.reach_s for each in forecasters)
    origins_from(series, task, reach_s, test_from_s, every_s)  # better known before learning than after
    figures = {}
    for forecaster in forecasters:
        begun_s = time.perf_counter()
        forecaster.fit(history, Fitting(seed=seed))
        train_s = time.perf_counter() - begun_s
        test = backtest(forecaster, series, test_from_s, every_s, reach_s=reach_s)
        scores = test.scores
        figures[forecaster.name] = {
            "smape_pct": scores.smape_pct,
            "rmse": scores.rmse_qps,
            "pinball_qps": scores.pinball_qps,
            "coverage_90_pct": scores.coverage_90_pct,
            "width_90_qps": scores.width_90_qps,
            "train_s": train_s,
            "predict_ms": 1e3 * _single_s(forecaster, series, test.at),
        }
        print(f"{forecaster.name}: {figures[forecaster.name]}", file=sys.stderr, flush=True)
    return Comparison(len(test.at), float(test.truth_qps.mean()), figures)


def _single_s(forecaster: Forecaster, series: LoadSeries, at: Origins) -> float:
    """How long one forecast takes, as the controller makes it: from no more history than it needs; the median."""
    reach = forecaster.reach_s // series.step_s
    took_s = []
    for origin in at[np.linspace(0, len(at) - 1, SINGLE_FORECASTS, dtype=int)].tolist():
        known = series.slice(origin - reach, origin)
        begun_s = time.perf_counter()
        forecaster.predict(known, np.array([len(known)]))
        took_s.append(time.perf_counter() - begun_s)
    return statistics.median(took_s)

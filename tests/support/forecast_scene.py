"""Load that a controller before has kept, models for it, and the settings of a controller that forecasts."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from controller_parts import DictStore, settings
from numpy.typing import NDArray

from autoscaler.demand.demand import MovingMaximum
from deployments.controller.variants.variant_book import VariantBook
from deployments.forecasting import trainer as forecast_trainer
from deployments.forecasting.choice import task_of
from deployments.forecasting.keeper import ForecastKeeper
from deployments.forecasting.training import Trained, TrainingRecord, TrainingRequest, train
from deployments.messages.control_settings import ControlSettings, ForecastSettings
from deployments.state.load_history import HOUR_S, LoadHistory
from deployments.state.saved_state import ControllerState
from deployments.state.store import StateStore
from forecast.artifact import Model, ModelCard
from forecast.registry import make
from forecast.series.series import LoadSeries
from forecast.training.task import ForecastTask
from virtual_time import EPOCH_S, in_virtual_time, wall_clock, without_threads

DAY_S = 86_400
NOW_S = int(EPOCH_S)
TRAINING_S = 5.0
"""How long a training takes in virtual time."""


def forecast(**changes: Any) -> ForecastSettings:
    given: dict[str, Any] = {
        "model": "linear",
        "quantile": 0.9,
        "horizon_s": None,
        "artifacts": {},
        "retrain_every_s": DAY_S,
        "history_s": 14 * DAY_S,
        "max_age_s": 7 * DAY_S,
    }
    return ForecastSettings(**(given | changes))


def forecasting(interval_s: float = 10.0, **changes: Any) -> ControlSettings:
    """One endpoint and one pool, with forecasts; the horizon is 20 s unless said otherwise."""
    return settings(interval_s=interval_s, forecast=forecast(**changes))


def waves(seconds: int = 30 * 3600, until_s: int = NOW_S, period_s: int = 300) -> LoadSeries:
    """Load that rises and falls, from 20 to 180 queries/s."""
    times_s = np.arange(until_s - seconds, until_s)
    loads_qps = np.round(100 + 80 * np.sin(2 * np.pi * times_s / period_s))
    return LoadSeries.regular(loads_qps, until_s - seconds)


def surges(at_s: int, seconds: int = 30 * 3600, until_s: int = NOW_S) -> LoadSeries:
    """10 queries/s, and 600 for a minute from the second ``at_s`` of every day on."""
    times_s = np.arange(until_s - seconds, until_s)
    surging: NDArray[np.bool_] = (times_s - at_s) % DAY_S < 60
    return LoadSeries.regular(np.where(surging, 600.0, 10.0), until_s - seconds)


def keep(store: StateStore, **loads: LoadSeries) -> None:
    """Write it as a controller does, by endpoint."""
    documents: dict[str, dict[str, list[int | None]]] = {}
    for name, series in loads.items():
        for hour in np.unique(series.times_s // HOUR_S):
            there = series.times_s // HOUR_S == hour
            counts: list[int | None] = [None] * HOUR_S
            for second, qps in zip(series.times_s[there] % HOUR_S, series.loads_qps[there], strict=True):
                counts[second] = int(qps)
            documents.setdefault(LoadHistory.document(hour * HOUR_S), {})[name] = counts
    for document, by_endpoint in documents.items():
        store.write(document, by_endpoint)


def trained(
    series: LoadSeries, name: str = "linear", task: ForecastTask | None = None, trained_until_s: int | None = None
) -> Model:
    forecaster = make(name, task or task_of(20))
    forecaster.fit(series)
    until_s = series.end_s if trained_until_s is None else trained_until_s
    return Model(forecaster, ModelCard(name, forecaster.task, series.step_s, series.start_s, until_s))


def saved(model: Model, folder: Path) -> str:
    path = folder / f"{model.card.name}.safetensors"
    model.save(path)
    return str(path)


def store_with(**loads: LoadSeries) -> DictStore:
    store = DictStore()
    keep(store, **loads)
    return store


class Trainings:
    """Trains on the spot instead of in another process; `TRAINING_S` pass. Knows the orders; ``fails`` says why not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[TrainingRequest] = []
        self.fails: Exception | None = None
        monkeypatch.setattr(forecast_trainer, "train_apart", self.train)

    async def train(self, store: StateStore, request: TrainingRequest) -> Trained:
        self.requests.append(request)
        await asyncio.sleep(TRAINING_S)
        if self.fails is not None:
            raise self.fails
        return train(store, request)


Scene = Callable[[ForecastKeeper], Coroutine[Any, Any, None]]


def play(monkeypatch: pytest.MonkeyPatch, scene: Scene, settings: ControlSettings, store: DictStore) -> Trainings:
    without_threads(monkeypatch)
    trainings = Trainings(monkeypatch)

    async def whole() -> None:
        now = MovingMaximum(endpoints=settings.endpoints)
        keeper = ForecastKeeper(settings, ControllerState(VariantBook(settings)), store, now, wall_clock, EPOCH_S)
        running = asyncio.create_task(keeper.run())
        await keeper.catch_up()
        await scene(keeper)
        assert not running.done()

    in_virtual_time(whole)
    return trainings


def record(**changes: Any) -> TrainingRecord:
    given: dict[str, Any] = {"at_s": EPOCH_S - 60, "model": "linear", "horizon_s": 20, "promoted": False, "why": "so"}
    return TrainingRecord(**(given | {"scores": {"candidate": {"pinball_qps": 2.0}}} | changes))


def seen(keeper: ForecastKeeper) -> dict[str, Any]:
    view: dict[str, Any] = json.loads(json.dumps(keeper.view(), allow_nan=False))["digits"]
    return view

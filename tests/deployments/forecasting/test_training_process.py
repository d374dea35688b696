"""A training in a process of its own, on the load in the state store."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from forecast_scene import NOW_S, keep, store_with, trained, waves

from catalog.errors import BadSeries, TrainingFailed
from deployments.forecasting import training_process
from deployments.forecasting.archive import opened
from deployments.forecasting.choice import task_of
from deployments.forecasting.training import LEAST_HISTORY_S, TrainingRequest, train
from deployments.forecasting.training_process import train_apart
from deployments.state.opening import open_store
from deployments.state.store import StateStore


def request(endpoint: str = "digits", model: str = "linear", incumbent: bytes | None = None) -> TrainingRequest:
    return TrainingRequest(endpoint, model, task_of(20), NOW_S - 30 * 3600, NOW_S, incumbent)


@pytest.fixture(params=["state.db", "state"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    made = open_store(str(tmp_path / request.param))
    keep(made, digits=waves(), letters=waves(3600))
    return made


@pytest.fixture(autouse=True)
def _yields_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other tests it would wait for its share of a core."""
    monkeypatch.setattr(training_process, "BACKGROUND_NICENESS", 0)


@pytest.fixture(autouse=True)
def _leaves_no_process() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


async def test_a_model_is_trained_elsewhere_on_what_the_store_keeps(store: StateStore) -> None:
    incumbent = trained(waves(), "constant").to_bytes()
    outcome = await train_apart(store, request(incumbent=incumbent))
    assert outcome.record.promoted
    assert outcome.record.scores.keys() == {"candidate", "simple", "incumbent"}
    assert outcome.model is not None
    model = opened(outcome.model, "trained")
    assert model.card.trained_from_s == NOW_S - 30 * 3600
    assert model.card.scores == outcome.record.scores["candidate"]


async def test_errors_of_the_training_pass_through(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "state.db"))
    keep(store, letters=waves(7200))
    with pytest.raises(BadSeries, match="2 h of load are known, 23 h are needed"):
        await train_apart(store, request("letters"))


def test_how_much_load_is_missing_is_told() -> None:
    store = store_with(digits=waves(LEAST_HISTORY_S - 10))
    with pytest.raises(BadSeries, match="23 h of load are known, 23 h are needed; wait for 10 s more"):
        train(store, request())


async def test_a_training_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_process, "LIMIT_S", 0.05)
    with pytest.raises(TrainingFailed, match="'linear' of digits was not trained within 0 s"):
        await train_apart(open_store(str(tmp_path / "state.db")), request())


async def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    training = asyncio.create_task(train_apart(open_store(str(tmp_path / "state.db")), request()))
    while not (children := multiprocessing.active_children()):
        await asyncio.sleep(0.01)
    pid = children[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(TrainingFailed, match="the process that trained 'linear' of digits died"):
        await training


async def test_nobody_waits_for_a_training_that_is_cancelled(tmp_path: Path) -> None:
    training = asyncio.create_task(train_apart(open_store(str(tmp_path / "state.db")), request()))
    await asyncio.sleep(0)
    training.cancel()
    with pytest.raises(asyncio.CancelledError):
        await training

"""When forecasters are trained anew, and whether the new one takes the place of the one that serves."""

import asyncio
from typing import Any

import pytest
from forecast_scene import (
    DAY_S,
    NOW_S,
    forecasting,
    play,
    record,
    seen,
    store_with,
    trained,
    waves,
)

from catalog.errors import StateUnavailable
from deployments.forecasting.archive import KeptModels, opened, read_kept_models, write_kept_models
from deployments.forecasting.choice import task_of
from deployments.forecasting.keeper import ForecastKeeper
from deployments.forecasting.trainer import RETRY_S
from deployments.forecasting.training import TrainingRecord
from forecast.series.series import LoadSeries
from virtual_time import EPOCH_S, until


def test_a_better_model_is_promoted_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with(digits=waves())

    async def scene(keeper: ForecastKeeper) -> None:
        assert seen(keeper)["why"] == "no model was trained yet: the first training begins within a minute"
        await asyncio.sleep(62.0)
        assert seen(keeper)["why"] == "a model is being trained"
        await until(lambda: seen(keeper)["model"] == "linear", within_s=30.0)
        view = seen(keeper)
        assert view["training"]["promoted"]
        assert view["training"]["took_s"] == 5.0
        assert view["training"]["scores"].keys() == {"candidate", "simple"}
        assert view["scores"] == view["training"]["scores"]["candidate"]
        assert view["trained_until"] == view["training"]["learned"][1] == view["training"]["held_out"][0]

    trainings = play(monkeypatch, scene, forecasting(), store)
    [request] = trainings.requests
    assert (request.endpoint, request.model, request.task, request.incumbent) == ("digits", "linear", task_of(20), None)
    kept_models = read_kept_models(store, "digits")
    assert kept_models.promoted is not None
    assert kept_models.newest is not None
    held_out_s = kept_models.newest.held_out_s
    assert held_out_s is not None
    assert held_out_s[1] - held_out_s[0] == pytest.approx(6 * 3600, abs=60), "a fifth of 30 hours"
    assert opened(kept_models.promoted, "kept").card.trained_until_s == held_out_s[0]


def test_a_model_that_cannot_be_saved_serves_all_the_same_and_is_saved_later(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with(digits=waves())
    store.broken = True

    async def scene(keeper: ForecastKeeper) -> None:
        await until(lambda: seen(keeper)["model"] == "linear", within_s=100.0)
        await asyncio.sleep(10.0)
        assert store.read("forecast/digits") is None
        store.broken = False
        await asyncio.sleep(62.0)

    trainings = play(monkeypatch, scene, forecasting(), store)
    assert len(trainings.requests) == 1
    assert read_kept_models(store, "digits").promoted is not None


def test_a_model_that_is_no_better_is_not_promoted_and_the_view_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with(digits=waves())

    async def scene(keeper: ForecastKeeper) -> None:
        await until(lambda: seen(keeper)["training"] is not None, within_s=100.0)
        assert seen(keeper)["model"] == "moving_maximum"
        assert "no model was promoted yet: the new model was no better" in seen(keeper)["why"]
        assert not seen(keeper)["training"]["promoted"]

    play(monkeypatch, scene, forecasting(model="constant"), store)
    assert read_kept_models(store, "digits").promoted is None


def test_a_worse_model_does_not_replace_the_one_that_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with(digits=waves())
    serving = trained(waves(20 * 3600, NOW_S - DAY_S)).to_bytes()
    write_kept_models(store, "digits", KeptModels(serving, (record(at_s=EPOCH_S - 2 * DAY_S, promoted=True),)))

    async def scene(keeper: ForecastKeeper) -> None:
        await until(lambda: seen(keeper)["training"]["model"] == "constant", within_s=100.0)
        assert seen(keeper)["model"] == "linear"
        assert seen(keeper)["training"]["scores"].keys() == {"candidate", "simple", "incumbent"}

    trainings = play(monkeypatch, scene, forecasting(model="constant"), store)
    assert [request.incumbent for request in trainings.requests] == [serving]
    assert read_kept_models(store, "digits").promoted == serving


def test_a_model_that_will_be_too_old_before_the_next_training_is_no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a model as good as it would not take its place, and nobody would forecast once it is too old."""
    store = store_with(digits=waves())
    serving = trained(waves(20 * 3600, NOW_S - 7 * DAY_S + 3600)).to_bytes()
    write_kept_models(store, "digits", KeptModels(serving, (record(at_s=EPOCH_S - 2 * DAY_S, promoted=True),)))

    async def scene(keeper: ForecastKeeper) -> None:
        assert seen(keeper)["model"] == "linear"
        await until(lambda: seen(keeper)["training"]["took_s"] > 0, within_s=100.0)
        assert seen(keeper)["training"]["promoted"]

    trainings = play(monkeypatch, scene, forecasting(), store)
    assert [request.incumbent for request in trainings.requests] == [None]


@pytest.mark.parametrize(
    ("newest", "due"),
    [
        (record(at_s=EPOCH_S - DAY_S), True),
        (record(at_s=EPOCH_S - DAY_S / 2), False),
        (record(at_s=EPOCH_S - RETRY_S, scores={}), True),
        (record(at_s=EPOCH_S - RETRY_S + 300, scores={}), False),
        (record(at_s=EPOCH_S - RETRY_S, horizon_s=10), True),
        (record(at_s=EPOCH_S - RETRY_S, model="deepar"), True),
    ],
    ids=["a day ago", "half a day ago", "failed", "failed just now", "for a shorter horizon", "another model"],
)
def test_a_training_is_due_after_a_day_or_sooner_where_the_last_is_of_no_use(
    monkeypatch: pytest.MonkeyPatch, newest: TrainingRecord, due: bool
) -> None:
    store = store_with(digits=waves())
    write_kept_models(store, "digits", KeptModels(None, (newest,)))

    async def scene(keeper: ForecastKeeper) -> None:
        await asyncio.sleep(100.0)

    assert len(play(monkeypatch, scene, forecasting(), store).requests) == due


def test_a_training_that_fails_changes_nothing_and_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """There are 30 hours of load, but the endpoint came an hour ago."""
    store = store_with(letters=waves(), digits=waves(3600))

    async def scene(keeper: ForecastKeeper) -> None:
        await until(lambda: seen(keeper)["training"] is not None, within_s=100.0)
        told = "3600 s of load are known, 23 h are needed; wait for 22 h more"
        assert seen(keeper)["why"] == f"no model was promoted yet: {told}"
        assert seen(keeper)["training"]["scores"] == {}
        await asyncio.sleep(200.0)

    assert len(play(monkeypatch, scene, forecasting(), store).requests) == 1
    assert any("forecaster linear was not trained" in each.getMessage() for each in caplog.records)


@pytest.mark.parametrize("gap_s", [0, 1200])
def test_a_history_of_one_day_is_enough_also_with_a_gap_of_minutes(monkeypatch: pytest.MonkeyPatch, gap_s: int) -> None:
    """The newest seconds are not learned from, as routers may not have reported them."""
    load = waves(2 * DAY_S, NOW_S + 200)
    there = (load.times_s < NOW_S - 7200) | (load.times_s >= NOW_S - 7200 + gap_s)
    store = store_with(digits=LoadSeries(load.times_s[there], load.loads_qps[there]))

    async def scene(keeper: ForecastKeeper) -> None:
        await until(lambda: seen(keeper)["training"] is not None, within_s=100.0)
        assert seen(keeper)["training"]["scores"], seen(keeper)["why"]

    [request] = play(monkeypatch, scene, forecasting(history_s=DAY_S), store).requests
    assert request.until_s - request.from_s == DAY_S


def test_what_could_not_be_read_is_read_before_anything_is_written_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with(digits=waves())
    kept = record(at_s=EPOCH_S - DAY_S, why="of before")
    write_kept_models(store, "digits", KeptModels(b"a model", (kept,)))
    away, read = {"forecast/digits"}, store.read

    def reads(name: str) -> Any:
        if name in away:
            raise StateUnavailable("throttled")
        return read(name)

    monkeypatch.setattr(store, "read", reads)

    async def scene(keeper: ForecastKeeper) -> None:
        await until(lambda: seen(keeper)["model"] == "linear", within_s=100.0)
        await asyncio.sleep(130.0)
        assert read("forecast/digits")["trainings"][-1]["why"] == "of before", "not written over"
        away.clear()
        await asyncio.sleep(62.0)

    play(monkeypatch, scene, forecasting(), store)
    kept_models = read_kept_models(store, "digits")
    assert len(kept_models.trainings) == 2
    assert kept_models.trainings[0].why == "of before"
    assert kept_models.promoted not in (None, b"a model")


def test_a_model_that_could_not_be_read_when_the_controller_began_serves_once_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = store_with(digits=waves())

    async def until_it_serves(keeper: ForecastKeeper) -> None:
        await until(lambda: seen(keeper)["model"] == "linear", within_s=100.0)

    assert play(monkeypatch, until_it_serves, forecasting(), store).requests
    away, read, names = {"forecast/digits"}, store.read, store.names

    def reads(name: str) -> Any:
        if name in away:
            raise StateUnavailable("throttled")
        return read(name)

    def named(prefix: str) -> list[str]:
        if away:
            raise StateUnavailable("throttled")
        return names(prefix)

    monkeypatch.setattr(store, "read", reads)
    monkeypatch.setattr(store, "names", named)

    async def scene(keeper: ForecastKeeper) -> None:
        await asyncio.sleep(5.0)
        assert seen(keeper)["model"] != "linear"
        away.clear()
        await until_it_serves(keeper)

    assert play(monkeypatch, scene, forecasting(retrain_every_s=None), store).requests == []

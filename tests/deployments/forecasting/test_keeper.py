"""Who forecasts for an endpoint: what was promoted, what the config names, or nobody, and why."""

import asyncio
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from controller_parts import DictStore
from forecast_scene import (
    DAY_S,
    NOW_S,
    forecast,
    forecasting,
    play,
    record,
    saved,
    seen,
    store_with,
    trained,
    waves,
)

from autoscaler.cluster.observation import Statistics
from deployments.forecasting.archive import KeptModels, write_kept_models
from deployments.forecasting.keeper import ForecastKeeper
from virtual_time import until


def test_without_history_the_load_that_is_there_counts_and_the_view_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(keeper: ForecastKeeper) -> None:
        await asyncio.sleep(61.0)
        view = seen(keeper)
        assert view["model"] == "moving_maximum"
        assert view["why"] == "no model was trained yet: 3 h of history, 23 h are needed"
        assert (view["forecast_qps"], view["training"], view["quantile"]) == (None, None, 0.9)
        assert keeper.demand.demand_qps() == {"digits": 0.1}

    store = store_with(digits=waves(3 * 3600))
    assert play(monkeypatch, scene, forecasting(), store).requests == []


def test_a_model_of_the_config_forecasts_from_the_kept_load_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ray.serve")
    series = waves()
    uri = saved(trained(series), tmp_path)

    async def scene(keeper: ForecastKeeper) -> None:
        demand = keeper.demand.demand_qps()["digits"]
        assert 150 < demand < 250
        view = seen(keeper)
        assert view["model"] == "linear"
        assert view["why"] is None
        assert view["horizon_s"] == 20
        assert view["trained_until"] == "2027-01-15T08:01:40.000+00:00"
        assert view["forecast_qps"] == demand
        await asyncio.sleep(60.0)

    play(monkeypatch, scene, forecasting(artifacts={"digits": uri}, retrain_every_s=None), store_with(digits=series))
    told = [each.getMessage() for each in caplog.records if "forecasts the load" in each.getMessage()]
    assert told == ["Endpoint digits: model linear forecasts the load of the next 20 s."]


@pytest.mark.parametrize("content", [None, b"", b"nonsense" * 100])
def test_a_model_that_cannot_be_read_is_told_of_and_nobody_forecasts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)

    async def scene(keeper: ForecastKeeper) -> None:
        assert seen(keeper)["model"] == "moving_maximum"
        assert f"cannot read the forecaster {path}" in seen(keeper)["why"]

    play(monkeypatch, scene, forecasting(artifacts={"digits": str(path)}), DictStore())


def test_a_model_of_the_config_that_comes_later_serves_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    series = waves()

    async def scene(keeper: ForecastKeeper) -> None:
        await asyncio.sleep(200.0)
        assert "cannot read the forecaster" in seen(keeper)["why"]
        saved(trained(series), tmp_path)
        await asyncio.sleep(71.0)
        assert seen(keeper)["model"] == "linear"
        (tmp_path / "linear.safetensors").unlink()
        await asyncio.sleep(71.0)
        assert seen(keeper)["model"] == "linear", "what is here is not fetched again"

    uri = str(tmp_path / "linear.safetensors")
    play(monkeypatch, scene, forecasting(artifacts={"digits": uri}, retrain_every_s=None), store_with(digits=series))
    told = [each for each in caplog.records if "cannot read the forecaster" in each.getMessage()]
    assert len([each for each in told if each.levelname == "ERROR"]) == 1, "the same reason is told once"


def test_until_enough_is_known_a_model_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    uri = saved(trained(waves()), tmp_path)

    async def scene(keeper: ForecastKeeper) -> None:
        for second in range(121):
            keeper.demand.demand_qps()
            waits = seen(keeper)["why"]
            assert (waits == "it looks 120 s back, and less of the recent load is known yet") == (second < 120)
            keeper.demand.on_statistics(Statistics(second, second + 1.0, {"digits": 100}, {}))

    play(monkeypatch, scene, forecasting(artifacts={"digits": uri}), DictStore())


def test_a_promoted_model_that_has_become_too_old_does_not_serve_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It reaches the limit of 7 days half a minute after the controller begins."""
    store = store_with(digits=waves(600))
    model = trained(waves(7200, NOW_S - 7 * DAY_S + 30))
    write_kept_models(store, "digits", KeptModels(model.to_bytes(), (record(promoted=True),)))

    async def scene(keeper: ForecastKeeper) -> None:
        assert seen(keeper)["model"] == "linear"
        assert keeper.demand.demand_qps()["digits"] > 100
        await asyncio.sleep(100.0)
        assert seen(keeper)["model"] == "moving_maximum"
        assert seen(keeper)["why"] == "model linear is 7 days old, more than the 7 days of max_age_s"
        assert keeper.demand.demand_qps()["digits"] == 0.1

    play(monkeypatch, scene, forecasting(), store)
    assert sum("plans are made for the load that it has" in each.getMessage() for each in caplog.records) == 1


def test_the_model_that_knows_the_newest_load_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = store_with(digits=waves(600))
    promoted = trained(waves(7200, NOW_S - 2 * DAY_S))
    write_kept_models(store, "digits", KeptModels(promoted.to_bytes(), (record(promoted=True),)))
    uri = saved(trained(waves(7200, NOW_S - DAY_S), "constant"), tmp_path)

    async def scene(keeper: ForecastKeeper) -> None:
        assert seen(keeper)["model"] == "constant"

    play(monkeypatch, scene, forecasting(artifacts={"digits": uri}), store)


def test_a_model_that_fails_is_not_asked_again_and_is_no_rival(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_with(digits=waves())
    uri = saved(trained(waves()), tmp_path)

    async def scene(keeper: ForecastKeeper) -> None:
        forecaster = keeper._given["digits"].forecaster
        monkeypatch.setattr(forecaster, "weights", np.array([np.nan]), raising=True)
        assert keeper.demand.demand_qps()["digits"] == 0.1
        assert seen(keeper)["model"] == "moving_maximum"
        assert "model linear failed: " in seen(keeper)["why"]
        await until(lambda: seen(keeper)["training"] is not None, within_s=100.0)

    trainings = play(monkeypatch, scene, forecasting(artifacts={"digits": uri}), store)
    assert [request.incumbent for request in trainings.requests] == [None]
    assert any("model linear failed" in each.getMessage() for each in caplog.records)


def test_another_quantile_counts_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    uri = saved(trained(waves()), tmp_path)
    config = forecasting(artifacts={"digits": uri}, retrain_every_s=None)

    async def scene(keeper: ForecastKeeper) -> None:
        before = keeper.demand.demand_qps()["digits"]
        quantiled = forecast(artifacts={"digits": uri}, retrain_every_s=None, quantile=0.1)
        keeper.change(replace(config, forecast=quantiled))
        assert keeper.demand.demand_qps()["digits"] < before
        assert seen(keeper)["quantile"] == 0.1

    play(monkeypatch, scene, config, store_with(digits=waves()))


def test_what_cannot_be_read_of_the_state_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = DictStore()
    store.write("forecast/digits", {"model": "no base 64!", "trainings": [3]})

    async def scene(keeper: ForecastKeeper) -> None:
        assert seen(keeper)["model"] == "moving_maximum"

    play(monkeypatch, scene, forecasting(), store)
    assert any("'forecast/digits' cannot be read" in each.getMessage() for each in caplog.records)


def test_torch_is_not_imported_before_forecasts_are_wanted() -> None:
    code = "import sys, deployments.controller.controller, serve_app.config.schema; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

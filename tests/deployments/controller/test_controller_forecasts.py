"""The whole controller with forecasts, in virtual time: plans for the load to come."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from controller_parts import pool, settings
from forecast_scene import DAY_S, NOW_S, Trainings, forecasting, saved, store_with, surges, trained, waves

from controller_scene import Service, play, started
from deployments.forecasting import keeper as forecast_keeper
from deployments.forecasting.archive import KeptModels, write_kept_models
from virtual_time import EPOCH_S, until, wall_clock

SURGE_S = 60
"""When the load surged yesterday, from the beginning of the scene on."""


def test_a_surge_like_yesterdays_is_planned_for_before_it_comes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    series = surges(NOW_S + SURGE_S)
    uri = saved(trained(series, "seasonal_naive"), tmp_path)

    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        view = service.one.plan()["forecast"]["digits"]
        assert (view["model"], view["why"]) == ("seasonal_naive", None), "the kept load is enough at once"
        await until(lambda: wall_clock() > EPOCH_S + SURGE_S - 22.0)
        assert service.held() == {"w1": ["slow"], "w2": ["slow"]}
        assert service.in_force.demand_qps["digits"] < 50
        await until(lambda: wall_clock() > EPOCH_S + SURGE_S - 12.0)
        assert service.routers["r1"].qps == {"digits": 10.0}, "the load has not risen yet"
        assert service.in_force.demand_qps["digits"] >= 600
        assert service.held() == {"w1": ["fast"], "w2": ["fast"]}
        assert all(there.loaded == {"fast"} for there in service.workers.values())

    config = forecasting(artifacts={"digits": uri}, retrain_every_s=None)
    play(monkeypatch, scene, config, store_with(digits=series))


def test_pools_grow_before_a_surge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    series = surges(NOW_S + SURGE_S)
    uri = saved(trained(series, "seasonal_naive"), tmp_path)

    async def scene(service: Service) -> None:
        cpu = service.pools["cpu"]
        come = iter(f"w{number}" for number in range(3, 100))

        def follow(sizes: Mapping[str, int]) -> None:
            missing = [next(come) for _ in range(sizes["cpu"] - len(cpu.workers))]
            if missing:
                asyncio.get_running_loop().call_later(4.0, cpu.come, *missing)

        await started(service, digits=10.0)
        before = len(cpu.workers)
        service.on_publish = follow
        await until(lambda: wall_clock() > EPOCH_S + SURGE_S - 5.0)
        assert len(cpu.workers) > before
        took_s = service.one._known.start_ups.longest_s("cpu")
        assert 4.0 <= took_s < 6.0, "measured from the plan to the worker"

    config = forecasting(artifacts={"digits": uri}, retrain_every_s=None)
    play(monkeypatch, scene, replace(config, pools={"cpu": pool(2, 1, 6)}), store_with(digits=series))


def test_a_model_that_is_too_old_does_not_plan_and_the_plan_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    series = surges(NOW_S + SURGE_S)
    store = store_with(digits=series)
    old = trained(series, "seasonal_naive", trained_until_s=NOW_S - 9 * DAY_S)
    write_kept_models(store, "digits", KeptModels(old.to_bytes()))

    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        view = service.one.plan()["forecast"]["digits"]
        assert view["model"] == "moving_maximum"
        assert view["why"] == "model seasonal_naive is 9 days old, more than the 7 days of max_age_s"
        await until(lambda: wall_clock() > EPOCH_S + SURGE_S + 10.0, within_s=100.0)
        assert max(each.demand_qps["digits"] for each in service.decisions if each.demand_qps) <= 12

    play(monkeypatch, scene, forecasting(retrain_every_s=None), store)


def test_a_model_is_trained_and_promoted_while_plans_are_made_and_the_next_controller_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ray.serve")
    trainings = Trainings(monkeypatch)

    async def scene(service: Service) -> None:
        await started(service, digits=100.0)
        assert service.one.plan()["forecast"]["digits"]["model"] == "moving_maximum"
        await until(lambda: service.one.plan()["forecast"]["digits"]["model"] == "linear", within_s=100.0)
        await asyncio.sleep(2.0)
        before = service.one.plan()["forecast"]["digits"]
        assert before["training"]["promoted"]
        assert before["forecast_qps"] is not None
        service.end_control()
        await asyncio.sleep(3.0)
        await service.control()
        await service.steady()
        after = service.one.plan()["forecast"]["digits"]
        assert {**after, "forecast_qps": None} == {**before, "forecast_qps": None}
        assert after["forecast_qps"] is not None, "what was kept of the load is enough at once"
        await asyncio.sleep(100.0)

    play(monkeypatch, scene, forecasting(), store_with(digits=waves()))
    assert len(trainings.requests) == 1, "the next one knows when the last training was"
    assert any("the new model was better" in each.getMessage() for each in caplog.records)


def test_a_training_that_fails_stops_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    trainings = Trainings(monkeypatch)
    trainings.fails = RuntimeError("no memory left")

    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        await until(lambda: service.one.plan()["forecast"]["digits"]["training"] is not None, within_s=100.0)
        view = service.one.plan()["forecast"]["digits"]
        assert view["why"] == "no model was promoted yet: no memory left"
        version = service.in_force.version
        service.routers["r1"].qps = {"digits": 600.0}
        await until(lambda: service.in_force.version > version, within_s=15.0)
        service.one.check()

    play(monkeypatch, scene, forecasting(), store_with(digits=waves()))


def test_a_state_that_cannot_be_read_delays_no_plan(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_with(digits=waves(7200))

    def fail(*args: object) -> None:
        raise OSError("the network is down")

    monkeypatch.setattr(forecast_keeper, "kept_series", fail)

    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        assert service.one.plan()["forecast"]["digits"]["model"] == "moving_maximum"
        service.one.check()

    play(monkeypatch, scene, forecasting(retrain_every_s=None), store)
    assert any("could be taken up" in each.getMessage() for each in caplog.records)


def test_without_forecasts_in_the_config_nothing_is_said_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        assert service.one.plan()["forecast"] == {}

    play(monkeypatch, scene, settings())

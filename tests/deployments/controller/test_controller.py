"""The whole controller with played workers and routers, in virtual time: plans that follow the load."""

import asyncio
import json

import pytest
from controller_parts import endpoint, settings

from controller_scene import PlannerHere, Service, play, started
from virtual_time import until, wall_clock


def test_the_first_plan_is_in_force_within_seconds_and_tells_how_it_came_about(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        decision = service.in_force
        assert decision.reason == "the application starts"
        assert decision.in_force_s is not None
        assert 0.6 <= decision.in_force_s < 1.0  # 0.1 s to plan, 0.5 s to load
        assert service.held() == {"w1": ["slow"], "w2": ["slow"]}
        assert {worker: there.loaded for worker, there in service.workers.items()} == {"w1": {"slow"}, "w2": {"slow"}}
        assert service.routers["r1"].using == {"w1", "w2"}
        view = json.loads(json.dumps(service.one.plan(), allow_nan=False))
        assert view["version"] == decision.version
        assert view["decision"]["workers"]["w1"] == {"pool": "cpu", "device": "cpu", "router": "r1"}
        assert view["pools"]["cpu"]["workers"] == view["pools"]["cpu"]["wanted"] == 2
        assert service.one.plans()[-1] == view["decision"]

    play(monkeypatch, scene, settings())


def test_a_burst_gets_faster_variants_before_the_interval_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        begun_s = wall_clock()
        service.routers["r1"].qps = {"digits": 600.0}
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]}, within_s=5.0)
        assert wall_clock() - begun_s < 5.0
        assert "the plan has room for" in service.in_force.reason
        await service.steady()
        assert all(there.loaded == {"fast"} for there in service.workers.values())

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_when_a_burst_is_over_the_most_accurate_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=600.0)
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]})
        service.routers["r1"].qps = {"digits": 10.0}
        await until(lambda: service.held() == {"w1": ["slow"], "w2": ["slow"]}, within_s=15.0)

    play(monkeypatch, scene, settings())


def test_load_is_the_sum_of_what_comes_to_all_routers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.router("r2", digits=300.0)
        await started(service, digits=300.0)
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]})
        await asyncio.sleep(12.0)
        assert service.in_force.demand_qps["digits"] == pytest.approx(600.0, rel=0.01)

    play(monkeypatch, scene, settings())


def test_a_planner_that_fails_leaves_the_plan_as_it_is_and_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        version = service.in_force.version

        def fail(planner: object, observation: object) -> None:
            raise RuntimeError("the solver is ill")

        with monkeypatch.context() as ill:
            ill.setattr(PlannerHere, "answer", staticmethod(fail))
            await asyncio.sleep(12.0)
        assert service.decisions[-1].state == "given up"
        assert service.decisions[-1].why_not == "RuntimeError: the solver is ill"
        assert service.in_force.version == version
        await until(lambda: service.in_force.version > version, within_s=12.0)

    play(monkeypatch, scene, settings())


def test_all_variants_are_everywhere_without_a_planner(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].broken = {"middle": "no such operator"}
        await started(service, digits=10.0)
        assert service.held() == {"w1": ["fast", "slow"], "w2": ["fast", "slow"]}
        service.routers["r1"].qps = {"digits": 5000.0}
        decisions = len(service.decisions)
        await asyncio.sleep(30.0)
        assert len(service.decisions) == decisions
        routing_table = service.routers["r1"].routing_table
        assert routing_table is not None
        assert routing_table.endpoints["digits"].shares is None

    play(monkeypatch, scene, settings({"digits": endpoint(by_tables=True)}, planner="everywhere"))

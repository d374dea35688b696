"""Fallback variants on played workers: after the plan, one by one, within memory, and given up for the next plan."""

import asyncio

import pytest
from controller_parts import pool, settings

from autoscaler.planners.proteus.options import ProteusOptions
from catalog.variant import Variant
from controller_scene import Service, play, started
from deployments.messages.worker import WorkerReport
from deployments.worker.client import WorkerGone
from dispatch.latency.lead import LEAD
from virtual_time import until

TWO = ProteusOptions(fallback=2)
ALL = frozenset(("slow", "middle", "fast"))


def test_they_come_after_the_plan_and_routers_use_them_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        assert service.held() == {"w1": ["slow"], "w2": ["slow"]}
        router = service.routers["r1"]
        assert router.mine == dict.fromkeys(("w1", "w2"), frozenset(("slow",)))
        await until(lambda: router.mine == dict.fromkeys(("w1", "w2"), frozenset(("slow", "fast"))), within_s=1.0)
        await until(lambda: router.mine == dict.fromkeys(("w1", "w2"), ALL), within_s=1.0)
        loads = [variant for what, worker, variant in service.pools["cpu"].done if worker == "w1" and what == "load"]
        assert loads == ["slow", "fast", "middle"]
        plan = service.in_force.plan
        assert plan is not None
        assert plan["fallback"] == {"w1": ["fast", "middle"], "w2": ["fast", "middle"]}
        assert plan["burst_qps"]["digits"] == pytest.approx(2 * 4 / (0.008 + (1 - LEAD) * 0.002))

    play(monkeypatch, scene, settings(proteus=TWO))


def test_memory_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        some = dict.fromkeys(("w1", "w2"), frozenset(("slow", "fast")))
        await until(lambda: service.routers["r1"].mine == some, within_s=2.0)
        service.routers["r1"].qps = {"digits": 600.0}
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]}, within_s=5.0)
        await service.steady()

    play(monkeypatch, scene, settings(proteus=TWO, pools={"cpu": pool(memory=2)}))


def test_a_plan_that_comes_while_they_load_waits_for_what_is_loading_and_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].load_s = 5.0
        await started(service, digits=10.0)
        await until(lambda: ("load", "w1", "fast") in service.pools["cpu"].done, within_s=1.0)
        service.one._ask("a test wants another plan")
        service.routers["r1"].qps = {"digits": 600.0}
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]}, within_s=20.0)
        await service.steady()
        assert all(there.loaded == {"fast"} for there in service.workers.values())

    play(monkeypatch, scene, settings(proteus=TWO, interval_s=1000.0))


def test_one_that_cannot_be_loaded_is_told_and_the_plan_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].broken["fast"] = "no such operator"
        await started(service, digits=10.0)
        version = service.in_force.version
        some = dict.fromkeys(("w1", "w2"), frozenset(("slow", "middle")))
        await until(lambda: service.routers["r1"].mine == some, within_s=3.0)
        assert (service.in_force.version, service.in_force.state) == (version, "in force")
        assert service.in_force.failed == {worker: {"fast": "no such operator"} for worker in ("w1", "w2")}
        assert [each["variant"] for each in service.one.plan()["unloadable"]] == ["fast"]

    play(monkeypatch, scene, settings(proteus=TWO, interval_s=1000.0))


def test_one_that_a_single_worker_cannot_load_stays_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        await until(lambda: service.routers["r1"].mine == dict.fromkeys(("w1", "w2"), ALL), within_s=3.0)
        service.pools["cpu"].broken["fast"] = "no such operator"
        service.pools["cpu"].go("w2")
        service.pools["cpu"].come("w3")
        some = {"w1": ALL, "w3": frozenset(("slow", "middle"))}
        await until(lambda: service.routers["r1"].mine == some, within_s=8.0)
        service.one._ask("a test wants another plan")
        await asyncio.sleep(5.0)
        assert service.routers["r1"].mine == some
        tries = [each for each in service.pools["cpu"].done if each == ("load", "w3", "fast")]
        assert len(tries) == 1

    play(monkeypatch, scene, settings(proteus=TWO, interval_s=1000.0))


def test_a_worker_that_is_gone_before_serve_says_so_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        there = service.pools["cpu"]
        load, asked = there.load, []

        async def dies(worker: str, variant: Variant) -> WorkerReport:
            if (worker, variant.name) != ("w2", "fast"):
                return await load(worker, variant)
            asked.append(worker)
            raise WorkerGone("its process ended", died=True)

        monkeypatch.setattr(there, "load", dies)
        await started(service, digits=10.0)
        await until(lambda: service.routers["r1"].mine == {"w1": ALL}, within_s=3.0)
        assert asked == ["w2"]

    play(monkeypatch, scene, settings(proteus=TWO, interval_s=1000.0))


def test_workers_stay_with_their_routers_while_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.router("r2", digits=5.0)
        await started(service, digits=5.0)
        await until(lambda: sorted(map(len, (each.mine for each in service.routers.values()))) == [1, 1])
        before = {name: set(each.mine) for name, each in service.routers.items()}
        await until(lambda: all(set(each.mine.values()) == {ALL} for each in service.routers.values()), within_s=3.0)
        assert {name: set(each.mine) for name, each in service.routers.items()} == before

    play(monkeypatch, scene, settings(proteus=TWO))

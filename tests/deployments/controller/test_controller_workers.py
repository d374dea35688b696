"""Plans that are made true on workers and routers that come, go, fail and lag behind."""

import asyncio
from typing import Any

import pytest
from controller_parts import pool, settings

from catalog.errors import NoWorker
from catalog.variant import Variant
from controller_scene import Service, play, started
from deployments.messages.worker import WorkerReport
from deployments.state.unloadable import FIRST_S
from deployments.worker.client import WorkerGone
from virtual_time import until, wall_clock


def test_a_worker_that_is_lost_is_planned_around_and_one_that_comes_is_planned_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.pools["cpu"].go("w1")
        await until(lambda: service.held().keys() == {"w2"}, within_s=3.0)
        assert service.in_force.reason == "worker w1 is gone"
        await service.steady()
        service.pools["cpu"].come("w3")
        await until(lambda: service.held().keys() == {"w2", "w3"}, within_s=3.0)
        assert service.in_force.reason == "worker w3 came"
        await service.steady()
        assert service.routers["r1"].using == {"w2", "w3"}

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_worker_that_is_lost_while_it_loads_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].come("w1", "w2")
        service.pools["cpu"].load_s = 5.0
        service.router("r1", digits=10.0)
        await service.control()
        await until(lambda: ("load", "w1", "slow") in service.pools["cpu"].done)
        service.pools["cpu"].go("w1")
        await service.steady()
        first = service.decisions[0]
        assert first.state == "replaced"
        assert first.workers.keys() == {"w2"}
        assert service.in_force.reason == "worker w1 is gone"

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_without_a_worker_there_is_no_plan_until_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.router("r1", digits=10.0)
        await service.control()
        await asyncio.sleep(8.0)
        assert {(each.state, each.why_not) for each in service.decisions} == {("given up", "no worker is there yet")}
        with pytest.raises(NoWorker):
            await service.one.simulate({"digits": 5.0})
        service.pools["cpu"].come("w1")
        await service.steady()
        assert service.held().keys() == {"w1"}
        service.pools["cpu"].go("w1")
        await asyncio.sleep(2.0)
        service.pools["cpu"].come("w2")
        await until(lambda: service.held().keys() == {"w2"}, within_s=3.0)

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_variant_that_cannot_be_loaded_is_planned_around_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].broken = {"slow": "out of memory"}
        await started(service, digits=10.0)
        first, *_ = service.decisions
        assert first.state == "given up"
        assert first.why_not == "slow cannot be loaded in pool cpu"
        assert first.failed == {worker: {"slow": "out of memory"} for worker in ("w1", "w2")}
        assert service.in_force.reason == first.why_not
        assert service.held() == {"w1": ["middle"], "w2": ["middle"]}
        [unloadable] = service.one.plan()["unloadable"]
        assert (unloadable["pool"], unloadable["variant"]) == ("cpu", "slow")
        service.pools["cpu"].broken.clear()
        await asyncio.sleep(30.0)
        assert service.held() == {"w1": ["middle"], "w2": ["middle"]}
        await asyncio.sleep(45.0)
        assert service.held() == {"w1": ["slow"], "w2": ["slow"]}
        assert service.one.plan()["unloadable"] == []

    play(monkeypatch, scene, settings())


def test_a_new_worker_that_cannot_load_a_variant_takes_it_from_no_other_and_tries_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(service: Service) -> None:
        everything = frozenset(("fast", "middle", "slow"))
        await started(service, digits=10.0)
        router = service.routers["r1"]
        await until(lambda: router.mine == {"w1": everything, "w2": everything})
        service.pools["cpu"].broken = {"slow": "its checksum is another"}
        service.pools["cpu"].go("w2")
        service.pools["cpu"].come("w3")
        await until(lambda: router.mine == {"w1": everything, "w3": everything - {"slow"}})
        await service.steady()
        assert service.in_force.failed == {"w3": {"slow": "its checksum is another"}}
        [unloadable] = service.one.plan()["unloadable"]
        assert (unloadable["worker"], unloadable["variant"]) == ("w3", "slow")
        service.pools["cpu"].broken.clear()
        await until(lambda: router.mine == {"w1": everything, "w3": everything}, within_s=FIRST_S + 5.0)
        assert service.in_force.reason == "slow may be loaded again"
        assert service.one.plan()["unloadable"] == []

    play(monkeypatch, scene, settings(planner="everywhere"))


def test_a_worker_that_can_load_nothing_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        everything = frozenset(("fast", "middle", "slow"))
        await started(service, digits=10.0)
        router = service.routers["r1"]
        await until(lambda: router.mine == {"w1": everything, "w2": everything})
        service.pools["cpu"].broken_on = {("w3", name): "no room on its disk" for name in everything}
        service.pools["cpu"].come("w3")
        await until(lambda: service.in_force.failed == {"w3": dict.fromkeys(everything, "no room on its disk")})
        await service.steady()
        assert router.mine == {"w1": everything, "w2": everything}
        service.pools["cpu"].broken_on.clear()
        await until(lambda: router.mine == dict.fromkeys(("w1", "w2", "w3"), everything), within_s=FIRST_S + 5.0)

    play(monkeypatch, scene, settings(planner="everywhere"))


def test_a_pool_of_which_one_worker_fails_again_and_again_is_asked_ever_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].broken_on["w2", "slow"] = "out of memory"
        await started(service, digits=10.0)
        await asyncio.sleep(10.0 * FIRST_S)
        tries = [each for each in service.pools["cpu"].done if each[:2] == ("load", "w2") and each[2] == "slow"]
        assert len(tries) == 4, "at once, and after 1, 3 and 7 minutes"

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_what_a_whole_pool_could_not_load_is_tried_again_though_the_planner_knows_no_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].broken = {"slow": "out of memory"}
        await started(service, digits=10.0)
        router, everything = service.routers["r1"], frozenset(("fast", "middle", "slow"))
        await until(lambda: router.mine == dict.fromkeys(("w1", "w2"), everything - {"slow"}))
        service.pools["cpu"].broken.clear()
        await until(lambda: router.mine == dict.fromkeys(("w1", "w2"), everything), within_s=FIRST_S + 5.0)

    play(monkeypatch, scene, settings(planner="everywhere"))


def test_where_nothing_can_be_loaded_the_controller_gives_up_and_does_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].broken = dict.fromkeys(("slow", "middle", "fast"), "no such operator")
        service.pools["cpu"].come("w1", "w2")
        service.router("r1", digits=10.0)
        await service.control()
        await asyncio.sleep(50.0)
        assert len(service.decisions) < 20
        await asyncio.sleep(10.0 * FIRST_S)
        assert len(service.decisions) < 100, "nor where it tries again, beside a plan every ten seconds"
        service.one.check()

    play(monkeypatch, scene, settings())


def test_where_old_and_new_do_not_fit_the_old_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.routers["r1"].qps = {"digits": 600.0}
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]})
        await service.steady()
        first, *later = [verb for verb, worker, _ in service.pools["cpu"].done if worker == "w1"]
        assert first == "load"
        assert later == ["unload", "load"] * (len(later) // 2)

    play(monkeypatch, scene, settings(pools={"cpu": pool(2, memory=1)}))


def test_with_memory_for_both_the_new_is_there_before_the_old_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.routers["r1"].qps = {"digits": 600.0}
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]})
        await service.steady()
        first, *later = [verb for verb, worker, _ in service.pools["cpu"].done if worker == "w1"]
        assert first == "load"
        assert later == ["load", "unload"] * (len(later) // 2)

    play(monkeypatch, scene, settings(pools={"cpu": pool(2, memory=2)}))


def test_two_routers_share_the_workers_and_one_that_falls_silent_loses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].come("w3", "w4")
        await started(service, digits=10.0)
        service.router("r2", digits=10.0)
        await until(lambda: len(service.routers["r2"].using) == 2)
        await service.steady()
        assert len(service.routers["r1"].using) == 2
        assert len(service.decisions) == 1  # no plan is needed for that
        service.routers["r1"].die()
        del service.routers["r1"]
        await until(lambda: len(service.routers["r2"].using) == 4, within_s=4.0)

    play(monkeypatch, scene, settings(pools={"cpu": pool(4)}, interval_s=1000.0))


def test_a_router_that_does_not_follow_holds_a_plan_up_for_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.router("r2", digits=1.0)
        await service.steady()
        service.routers["r2"].deaf = True
        service.routers["r1"].qps = {"digits": 600.0}
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]})
        assert service.in_force.in_force_s == pytest.approx(10.6, abs=0.2)

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_pools_grow_before_a_plan_and_shrink_once_any_worker_may_go(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        cpu = service.pools["cpu"]

        def resize(sizes: Any) -> None:
            wanted = sizes["cpu"]
            there = sorted(cpu.workers)
            if wanted < len(there):
                # Serve stops whichever it likes: what is left must do
                everything = set().union(*(worker.loaded for worker in cpu.workers.values()))
                assert all(worker.loaded == everything for worker in cpu.workers.values())
                asyncio.get_running_loop().call_later(0.2, cpu.go, *there[: len(there) - wanted])
            elif wanted > len(there):
                new = [f"n{len(service.published)}{number}" for number in range(wanted - len(there))]
                asyncio.get_running_loop().call_later(2.0, cpu.come, *new)

        service.on_publish = resize
        cpu.come("w1")
        service.router("r1", digits=10.0)
        await service.control()
        await service.steady()
        assert len(cpu.workers) == 1
        service.routers["r1"].qps = {"digits": 1200.0}
        await until(lambda: len(cpu.workers) == 3)
        service.on_publish = lambda sizes: None
        await until(lambda: len(service.held()) == 3)
        await service.steady()
        service.on_publish = resize
        begun_s = wall_clock()
        service.routers["r1"].qps = {"digits": 10.0}
        await until(lambda: len(cpu.workers) == 1, within_s=180.0)
        assert wall_clock() - begun_s > 60.0
        await service.steady()
        assert service.held().keys() == cpu.workers.keys()

    play(monkeypatch, scene, settings(pools={"cpu": pool(1, 1, 3)}))


def test_a_worker_that_did_not_answer_for_a_moment_has_a_place_in_another_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].come("w1", "w2")
        service.router("r1", digits=10.0)
        service.pools["cpu"].load_s = 2.0
        away = service.pools["cpu"].load

        async def unreachable(worker: str, variant: Variant) -> WorkerReport:
            if worker == "w1" and wall_clock() < begun_s + 1.0:
                raise WorkerGone("unreachable for a moment")
            return await away(worker, variant)

        monkeypatch.setattr(service.pools["cpu"], "load", unreachable)
        begun_s = wall_clock()
        await service.control()
        await until(lambda: service.one._known.decisions.in_force is not None, within_s=10.0)
        await until(lambda: service.routers["r1"].using == {"w2"}, within_s=1.0)
        await until(lambda: service.routers["r1"].using == {"w1", "w2"}, within_s=20.0)
        assert service.in_force.reason == "worker w1 answers again"
        await service.steady()

    play(monkeypatch, scene, settings(interval_s=1000.0))

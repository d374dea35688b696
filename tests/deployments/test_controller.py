"""The whole controller with played workers and routers, in virtual time."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import BadRequest, NoWorker
from controller_scene import (
    DictStore,
    PlannerHere,
    Service,
    artifact,
    endpoint,
    play,
    pool,
    settings,
)
from deployments import controller as controller_module
from deployments.controller import SAVE_EVERY_S
from deployments.load_history import HOUR_S, LoadHistory
from virtual_time import until, wall_clock


def described(folder: Path, name: str = "new", **changes: Any) -> dict[str, Any]:
    tensors = [{"name": "x", "datatype": "FP32", "shape": [-1]}]
    given = {"name": name, "task": "digits", "runtime": "onnx", "artifact": {"uri": artifact(folder, name).uri}}
    return given | {"accuracy": 0.95, "inputs": tensors, "outputs": tensors, "max_batch": 4} | changes


def counted(service: Service, seconds: int, until_s: float) -> list[int]:
    """Queries to digits in each of the last whole seconds before an instant, as the load history has them."""
    documents = service.one._known.history.take_documents()
    found = []
    for second in range(int(until_s) - seconds, int(until_s)):
        found.append(documents[LoadHistory.document(second)]["digits"][second % HOUR_S])
    return found


async def started(service: Service, **qps: float) -> None:
    """Workers w1 and w2 in pool cpu, and the router r1 with so many queries a second."""
    service.pools["cpu"].come("w1", "w2")
    service.router("r1", **qps)
    await service.control()
    await service.steady()


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


def test_where_nothing_can_be_loaded_the_controller_gives_up_and_does_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.pools["cpu"].broken = dict.fromkeys(("slow", "middle", "fast"), "no such operator")
        service.pools["cpu"].come("w1", "w2")
        service.router("r1", digits=10.0)
        await service.control()
        await asyncio.sleep(50.0)
        assert len(service.decisions) < 20
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


def test_load_is_the_sum_of_what_comes_to_all_routers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.router("r2", digits=300.0)
        await started(service, digits=300.0)
        await until(lambda: service.held() == {"w1": ["fast"], "w2": ["fast"]})
        await asyncio.sleep(12.0)
        assert service.in_force.demand_qps["digits"] == pytest.approx(600.0, rel=0.01)

    play(monkeypatch, scene, settings())


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


def test_the_next_controller_goes_on_where_the_one_before_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.routers["r1"].runs = {("cpu", "slow"): 2.0}
        await service.one.register(described(tmp_path))
        await asyncio.sleep(30.0)
        before = service.one
        directive = service.routers["r1"].directive
        decision = service.in_force
        assert directive is not None
        service.end_control()
        await asyncio.sleep(5.0)
        assert service.routers["r1"].using == {"w1", "w2"}
        after = await service.control()
        assert after.knows("new")
        assert after.plan()["version"] == decision.version
        assert after.plan()["corrections"][0]["factor"] == pytest.approx(before.plan()["corrections"][0]["factor"])
        loads = [each for each in service.pools["cpu"].done if each[0] == "load"]
        await until(lambda: service.in_force.version > decision.version)
        await service.steady()
        missed = [count for count in counted(service, seconds=30, until_s=wall_clock() - 3.0) if count != 10]
        assert len(missed) <= SAVE_EVERY_S  # the one before had not written them
        assert service.in_force.reason == "a controller took over"
        assert [each for each in service.pools["cpu"].done if each[0] == "load"] == loads
        assert service.routers["r1"].following > directive.version

    play(monkeypatch, scene, settings())


def test_what_waited_for_a_controller_is_no_burst_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.router("r2", digits=20.0)
        await started(service, digits=20.0)
        await asyncio.sleep(20.0)
        service.end_control()
        await asyncio.sleep(15.0)
        await service.control()
        await service.steady()
        await asyncio.sleep(5.0)
        seen = [each.demand_qps["digits"] for each in service.decisions if each.demand_qps]
        assert max(seen) < 60.0
        missed = [count for count in counted(service, seconds=30, until_s=wall_clock() - 3.0) if count != 40]
        assert len(missed) <= SAVE_EVERY_S  # the one before had not written them

    play(monkeypatch, scene, settings())


def test_plans_are_made_after_an_endpoint_was_taken_out_of_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0, urgent=10.0)
        await asyncio.sleep(10.0)
        fewer = replace(service.settings, endpoints={"digits": endpoint()})
        await service.control(fewer)  # routers of the application before still report both
        await service.steady()
        assert [each.why_not for each in service.decisions if each.state == "given up"] == []
        assert service.in_force.reason == "a controller took over"
        assert service.in_force.demand_qps.keys() == {"digits"}

    both = {"digits": endpoint(), "urgent": endpoint(slo_s=0.1)}
    play(monkeypatch, scene, settings(endpoints=both))


def test_a_change_of_objective_makes_a_new_plan_and_the_same_config_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.one.change(service.settings)
        await asyncio.sleep(1.0)
        assert len(service.decisions) == 1
        # slow takes 32 ms, and two of them do not fit
        service.one.change(replace(service.settings, endpoints={"digits": endpoint(slo_s=0.06)}))
        await until(lambda: service.held() == {"w1": ["middle"], "w2": ["middle"]})
        assert service.in_force.reason == "the config changed"
        assert service.one.plan()["slo_ms"] == {"digits": 60.0}
        await service.steady()
        directive = service.routers["r1"].directive
        assert directive is not None
        assert directive.endpoints["digits"].slo_s == 0.06

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_registered_variant_is_profiled_and_planned_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        made = await service.one.register(described(tmp_path))
        assert made["variant"] == "new"
        assert made["profiles"] == {"cpu": {"batch_sizes": [1, 2, 4], "p95_ms": pytest.approx([4.0, 8.0, 16.0])}}
        assert service.one.knows("new")
        await until(lambda: service.held() == {"w1": ["new"], "w2": ["new"]})
        assert service.in_force.reason == "variant new was registered"

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_wrong_variant_or_load_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        for wrong, words in (
            (described(tmp_path, accuracy=1.5), "accuracy"),
            (described(tmp_path, "slow"), "repeats slow"),
            (described(tmp_path, task="letters"), "no endpoint here would be served by it"),
            (described(tmp_path, artifact={"uri": str(tmp_path / "missing.onnx")}), "missing.onnx"),
        ):
            with pytest.raises(BadRequest, match=words):
                await service.one.register(wrong)
        assert not service.one.knows("new")
        for load, words in (({"letters": 1.0}, "'letters'.*digits"), ({"digits": -1.0}, "-1.0")):
            with pytest.raises(BadRequest, match=words):
                await service.one.simulate(load)
        assert len(service.decisions) == 1

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_simulation_says_what_would_be_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        would = await service.one.simulate({"digits": 600.0})
        assert would["plan"]["held"] == {"w1": ["fast"], "w2": ["fast"]}
        assert would["now"] == service.in_force.plan
        await asyncio.sleep(3.0)
        assert len(service.decisions) == 1

    play(monkeypatch, scene, settings(interval_s=1000.0))


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
        directive = service.routers["r1"].directive
        assert directive is not None
        assert directive.endpoints["digits"].shares is None

    play(monkeypatch, scene, settings({"digits": endpoint(by_tables=True)}, planner="everywhere"))


def test_a_store_that_takes_nothing_does_not_stop_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    store = DictStore()

    async def scene(service: Service) -> None:
        store.write("epoch", 1)
        await started(service, digits=10.0)
        store.broken = True
        await asyncio.sleep(20.0)
        service.one.check()
        store.broken = False
        await asyncio.sleep(6.0)
        assert len(store.read("decisions")) == len(service.decisions)

    play(monkeypatch, scene, settings(), store)


def test_an_older_state_never_replaces_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        running = 0

        async def slowly(work: Any, *args: Any) -> Any:
            nonlocal running
            running += 1
            most.append(running)
            await asyncio.sleep(1.0)
            running -= 1
            return work(*args)

        most: list[int] = []
        monkeypatch.setattr(controller_module, "write_all", lambda *args: None)
        monkeypatch.setattr(asyncio, "to_thread", slowly)
        await asyncio.gather(service.one._save(), service.one._save(), service.one._save())
        assert max(most) == 1

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_controller_that_does_not_go_round_any_more_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        await asyncio.sleep(100.0)
        service.one.check()

        async def fail() -> None:
            raise RuntimeError("played")

        monkeypatch.setattr(service.one._directives, "settle", fail)
        await asyncio.sleep(60.0)
        with pytest.raises(RuntimeError):
            service.one.check()

    play(monkeypatch, scene, settings())

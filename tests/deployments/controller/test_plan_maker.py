"""From what is observed to what is to be made true; the planner is the real one, on the spot."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from controller_parts import RUN_S, endpoint, pool, settings

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.cluster.plan_record import from_record
from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from autoscaler.placement.serving import Service
from autoscaler.planners.planner import Planner
from catalog.errors import NoWorker
from deployments.controller.plan_maker import Change, PlanMaker
from deployments.controller.planner_process import PlannerProcess
from deployments.controller.variants.variant_book import VariantBook
from deployments.messages.control_settings import ControlSettings
from deployments.state.decisions import Decisions
from deployments.state.saved_state import ControllerState
from dispatch.plan import EndpointLimits
from dispatch.worker_info import workers_of
from virtual_time import in_virtual_time, without_threads


class Here:
    """Plans on the spot; ``silent`` it has no answer."""

    silent = False

    async def plan(self, planner: Planner, observation: Observation) -> ClusterPlan | NoPlan:
        await asyncio.sleep(0.1)
        if self.silent:
            return NoPlan(SolveReport(Status.NO_ANSWER, None, 5.0, ("No answer within 5 s.",)))
        return planner.plan(observation)


class Scene:
    def __init__(self, config: ControlSettings) -> None:
        self.known = ControllerState(VariantBook(config))
        self.planners = Here()
        self.published: list[Mapping[str, int]] = []
        self.maker = PlanMaker(config, self.known, cast(PlannerProcess, self.planners), self.published.append)
        self.decision = Decisions().begin("a test", 0.0)

    async def make(self, qps: float, workers: Mapping[str, str], now_s: float = 0.0) -> Change:
        change = await self.made(qps, workers, now_s)
        assert change is not None
        return change

    async def made(self, qps: float, workers: Mapping[str, str], now_s: float = 0.0) -> Change | None:
        observation = Observation(now_s, {"digits": qps}, workers_of(workers), {})
        return await self.maker.make(observation, self.decision, now_s)


def play(
    monkeypatch: pytest.MonkeyPatch, config: ControlSettings, scene: Callable[[Scene], Coroutine[Any, Any, None]]
) -> None:
    without_threads(monkeypatch)
    in_virtual_time(lambda: scene(Scene(config)))


def workers(*names: str, of: str = "cpu") -> dict[str, str]:
    return dict.fromkeys(names, of)


def offered(service: Service, name: str = "cpu") -> list[str]:
    return [each.variant for each in service.candidates[name]]


def test_a_change_has_the_plan_and_the_terms_that_routers_serve_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        change = await played.make(600.0, workers("w1", "w2"))
        assert change.plan.held == {"w1": {"fast"}, "w2": {"fast"}}
        assert change.sizes == {"cpu": 2}
        assert change.limit_bytes == {"w1": 5.0, "w2": 5.0}
        service = change.endpoints["digits"]
        assert service.limits == EndpointLimits(0.2, True, 500)
        assert service.shares is not None
        assert sum(service.shares.values()) == pytest.approx(1.0, abs=1e-4)
        assert service.kinds["w1"] == service.kinds["w2"]
        assert from_record(played.decision.plan or {}) == change.plan
        assert played.decision.demand_qps == {"digits": 600.0}
        assert played.decision.solve_s > 0.0

    play(monkeypatch, settings(pools={"cpu": pool(memory=5.0)}), scene)


def test_without_a_planner_endpoints_balance_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        change = await played.make(600.0, workers("w1"))
        assert change.plan.held == {"w1": frozenset(RUN_S)}
        service = change.endpoints["digits"]
        assert service.shares is None
        assert service.kinds == {}
        assert offered(service) == list(RUN_S)

    play(monkeypatch, settings(planner="everywhere"), scene)


def test_what_cannot_be_loaded_in_a_pool_is_left_out_there_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.known.unloadable.bar_pool("cpu", "slow", "out of memory", 0.0)
        change = await played.make(60.0, {"w1": "cpu", "w2": "cpu", "g1": "gpu"}, now_s=59.0)
        assert "slow" not in offered(change.endpoints["digits"])
        assert "slow" in offered(change.endpoints["digits"], "gpu")
        of_cpu = [held for worker, held in change.plan.held.items() if worker != "g1"]
        assert of_cpu
        assert all("slow" not in held for held in of_cpu)
        assert (await played.make(1.0, workers("w1", "w2"), now_s=61.0)).plan.held["w1"] == {"slow"}

    both = {"digits": endpoint(pools=("cpu", "gpu"))}
    play(monkeypatch, settings(both, {"cpu": pool(), "gpu": pool(1)}), scene)


def test_where_nothing_at_all_can_be_loaded_everything_is_shed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        for name in RUN_S:
            played.known.unloadable.bar_pool("cpu", name, "out of memory", 0.0)
        change = await played.make(10.0, workers("w1", "w2"))
        assert change.plan.held == {}
        assert change.plan.shed == pytest.approx(1.0)

    play(monkeypatch, settings(), scene)


def test_plans_are_made_with_how_long_batches_took_lately(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        # slow serves 33 queries a second, and half of that is not enough
        assert (await played.make(40.0, workers("w1", "w2"))).plan.held["w1"] == {"slow"}
        counts = [0] * BIN_COUNT
        counts[bin_of(2.0)] = 2000
        played.known.runs.on_counts(("cpu", "slow"), "w1", counts, 0.0)
        change = await played.make(40.0, workers("w1", "w2"))
        assert {variant for held in change.plan.held.values() for variant in held} != {"slow"}
        assert change.plan.shed == pytest.approx(0.0)

    play(monkeypatch, settings(), scene)


@pytest.mark.parametrize("planner", ["proteus", "everywhere"])
def test_routers_get_what_is_profiled_since_they_measure_for_themselves(
    monkeypatch: pytest.MonkeyPatch, planner: str
) -> None:
    async def scene(played: Scene) -> None:
        counts = [0] * BIN_COUNT
        counts[bin_of(2.0)] = 2000
        played.known.runs.on_counts(("cpu", "fast"), "w1", counts, 0.0)
        played.known.transport.on_counts("cpu", counts, 0.0)
        change = await played.make(600.0, workers("w1", "w2"))
        fast = next(each for each in change.endpoints["digits"].candidates["cpu"] if each.variant == "fast")
        assert fast.latency_s[1] == pytest.approx(RUN_S["fast"] + 0.002)
        assert fast.runs_s[1] == pytest.approx(RUN_S["fast"])

    play(monkeypatch, settings(planner=planner), scene)


def test_endpoints_by_tables_are_offered_by_device_what_some_table_could_choose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        change = await played.make(10.0, {"w1": "first", "w2": "second"})
        service = change.endpoints["digits"]
        assert {device: [each.variant for each in own] for device, own in service.candidates.items()} == {
            "cpu": ["slow", "middle", "fast"],
            "cuda": ["slow", "fast"],
        }, "on cuda slow is both faster and more accurate than middle"
        for device, row_s in (("cpu", 0.030), ("cuda", 0.003)):
            assert service.candidates[device][0].runs_s[1] == pytest.approx(row_s)

    pools = {"first": replace(pool(), device="cuda"), "second": pool()}
    config = settings({"digits": endpoint(by_tables=True, pools=("first", "second"))}, pools, planner="everywhere")
    faster = {("first", "slow"): tuple(0.003 * rows for rows in range(5))}
    play(monkeypatch, replace(config, profiled_s={**config.profiled_s, **faster}), scene)


def test_of_pools_of_one_device_tables_have_the_batches_that_fit_on_both(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        change = await played.make(10.0, {"w1": "small", "w2": "large"})
        rows = {each.variant: each.max_batch for each in change.endpoints["digits"].candidates["cpu"]}
        assert rows == {"slow": 4, "middle": 4, "fast": 2}

    config = settings(
        {"digits": endpoint(by_tables=True, pools=("small", "large"))},
        {"small": pool(), "large": pool()},
        planner="everywhere",
    )
    fewer = {("small", "fast"): config.profiled_s["small", "fast"][:3]}
    play(monkeypatch, replace(config, profiled_s={**config.profiled_s, **fewer}), scene)


def test_without_workers_there_is_no_plan_but_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        assert await played.made(600.0, {}) is None
        assert played.decision.why_not == "no worker is there yet"
        assert played.published == [{"cpu": 4}]
        with pytest.raises(NoWorker):
            await played.maker.simulate(Observation(0.0, {}, {}, {}), {}, 0.0)

    play(monkeypatch, settings(pools={"cpu": pool(0, 0, 4)}), scene)


def test_no_answer_in_time_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.planners.silent = True
        assert await played.made(10.0, workers("w1", "w2")) is None
        assert played.decision.why_not == "No answer within 5 s."
        assert played.maker.sizes == {"cpu": 2}
        with pytest.raises(NoWorker, match="No answer within 5 s"):
            await played.maker.simulate(Observation(0.0, {}, workers_of(workers("w1")), {}), {"digits": 1.0}, 0.0)

    play(monkeypatch, settings(pools={"cpu": pool(2, 1, 4)}), scene)


def test_a_pool_grows_before_there_is_a_plan_and_stays_when_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        change = await played.make(1400.0, workers("w1", "w2"))
        assert played.published == [{"cpu": 3}]
        assert change.sizes == {"cpu": 3}
        assert change.plan.held.keys() == {"w1", "w2"}

    play(monkeypatch, settings(pools={"cpu": pool(2, 1, 3)}), scene)


def test_a_pool_shrinks_only_after_a_plan_under_which_any_worker_may_go(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        there = workers("w1", "w2", "w3")
        assert (await played.make(1.0, there, 0.0)).sizes == {"cpu": 3}
        change = await played.make(1.0, there, 61.0)
        assert change.sizes == {"cpu": 1}
        assert played.published[-1] == {"cpu": 3}
        assert change.plan.held.keys() == there.keys()
        assert len(set(change.plan.held.values())) == 1
        shares = change.endpoints["digits"].shares
        assert shares is not None
        assert list(shares.values()) == pytest.approx([1 / 3] * 3, rel=1e-5)
        await played.maker.shrink(change.sizes)
        assert played.published[-1] == {"cpu": 1}
        assert played.maker.sizes == {"cpu": 1}

    play(monkeypatch, settings(pools={"cpu": pool(3, 1, 3)}), scene)


def test_a_simulation_may_ask_for_workers_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        observation = Observation(0.0, {"digits": 1.0}, workers_of(workers("w1")), {})
        simulated = await played.maker.simulate(observation, {"digits": 1400.0}, 0.0)
        assert simulated["plan"]["pool_sizes"] == {"cpu": 3}
        assert simulated["now"] is None
        assert played.published == []

    play(monkeypatch, settings(pools={"cpu": pool(1, 1, 3)}), scene)


def test_sizes_follow_the_settings_also_after_they_were_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings(pools={"cpu": pool(2)})

    async def scene(played: Scene) -> None:
        await played.make(1.0, workers("w1", "w2"))
        assert played.maker.sizes == {"cpu": 2}
        played.maker.change(replace(config, pools={"cpu": pool(4)}))
        assert (await played.make(1.0, workers("w1", "w2"))).sizes == {"cpu": 4}
        assert played.published[-1] == {"cpu": 4}
        played.maker.change(replace(config, pools={"cpu": pool(1)}))
        change = await played.make(1.0, workers("w1", "w2"))
        assert change.sizes == {"cpu": 1}
        assert played.published[-1] == {"cpu": 2}, "nobody goes before the plan for fewer is in force"
        await played.maker.shrink(change.sizes)
        assert played.published[-1] == {"cpu": 1}

    play(monkeypatch, config, scene)

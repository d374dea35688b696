"""A plan is made true step by step, while routers follow and workers load; both are played."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from controller_parts import PlayedPool, pool, settings

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.serving import Service
from catalog.variant import Variant
from deployments.controller.plan_maker import Change, PlanMaker
from deployments.controller.rollout_runner import FOLLOW_S, RolloutRunner
from deployments.controller.routing_tables import RoutingTables
from deployments.controller.variants.variant_book import VariantBook
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control import RouterState, RoutingTable
from deployments.messages.worker import WorkerReport
from deployments.state.decisions import Decision
from deployments.state.saved_state import ControllerState
from deployments.state.unloadable import FIRST_S
from deployments.worker import membership
from deployments.worker.client import WorkerClient
from dispatch.plan import EndpointLimits
from dispatch.selection.policy import Candidate
from virtual_time import in_virtual_time, until, wall_clock

ENDPOINTS = {"digits": Service(EndpointLimits(0.2, True, 500), {}, {}, {})}


def served_by(*variants: str) -> Service:
    candidates = tuple(Candidate(name, 0.9, (0.0, 0.01)) for name in variants)
    return Service(EndpointLimits(0.2, True, 500), {"cpu": candidates}, {}, {})


TWO_ENDPOINTS = {"digits": served_by("slow", "middle"), "letters": served_by("fast")}


class Scene:
    """Workers w1 and w2 that hold something, and the router r1, which follows each routing table within 0.1 s.

    ``log`` has what happened, in order: loads and unloads of the pool, what the router follows, sizes.
    """

    def __init__(self, memory_bytes: float) -> None:
        self.pool = PlayedPool("cpu", memory_bytes)
        self.log: list[Any] = self.pool.done
        self.worker_registry = WorkerRegistry({"cpu": cast(WorkerClient, self.pool)}, lambda worker, came: None)
        self.routing_tables = RoutingTables(self.worker_registry, 1, wall_clock)
        self.known = ControllerState(VariantBook(settings()))
        self.decision = self.known.decisions.begin("a test", wall_clock())
        maker = cast(PlanMaker, self)
        self.runner = RolloutRunner(self.worker_registry, self.routing_tables, self.known, maker, wall_clock)
        self.follows = True
        self.endpoints = ENDPOINTS
        self.serves: dict[str, frozenset[str]] = {}
        self._limit_bytes = memory_bytes

    async def shrink(self, sizes: Mapping[str, int]) -> None:
        """In the place of the plan maker."""
        self.log.append(("sizes", "", str(sizes)))

    async def start(self, **holds: str) -> None:
        self.pool.come(*holds)
        for worker, names in holds.items():
            self.pool.workers[worker].loaded = set(names.split())
        await self.worker_registry.start()
        await until(lambda: self.worker_registry.known)
        self.routing_tables.on_router_state(RouterState("r1", 0, frozenset()))
        self._following = asyncio.create_task(self._follow())

    async def run(self, **held: str) -> str | None:
        plan = ClusterPlan(
            held={worker: frozenset(names.split()) for worker, names in held.items()},
            shares={"digits": {}},
            demand_qps={"digits": 1.0},
            served_qps={"digits": 1.0},
            capacity_qps={"digits": 1.0},
            accuracy={"digits": 1.0},
            pool_sizes={"cpu": len(held)},
            report=SolveReport(Status.OPTIMAL, 0.0, 0.0),
        )
        change = Change(plan, self.endpoints, {"cpu": len(held)}, dict.fromkeys(self.pool.workers, self._limit_bytes))
        return await self.runner.run(change, self.decision, wall_clock())

    async def _follow(self) -> None:
        version = 0
        while True:
            routing_table: RoutingTable | None = await self.routing_tables.next("r1", version, 5.0)
            if routing_table is not None and self.follows:
                await asyncio.sleep(0.1)
                version = routing_table.version
                self.serves = {worker: routing.serves for worker, routing in routing_table.workers.items()}
                self.log.append(("follow", "", str({w: sorted(each) for w, each in sorted(self.serves.items())})))
                self.routing_tables.on_router_state(RouterState("r1", version, frozenset()))
            elif routing_table is not None:
                await asyncio.sleep(0.1)


def play(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[Scene], Coroutine[Any, Any, None]], memory_bytes: float = 9.0
) -> None:
    monkeypatch.setattr(membership, "_live", {})
    monkeypatch.setattr(membership, "_listeners", {})

    async def whole() -> None:
        played = Scene(memory_bytes)
        await scene(played)
        assert played.pool.overflows == []

    in_virtual_time(whole)


def test_the_new_is_loaded_then_routers_switch_then_the_old_goes_and_sizes_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="fast")
        assert await played.run(w1="fast", w2="fast") is None
        assert played.log == [
            ("load", "w1", "fast"),
            ("follow", "", "{'w1': ['fast'], 'w2': ['fast']}"),
            ("unload", "w1", "slow"),
            ("sizes", "", "{'cpu': 2}"),
        ]
        assert played.decision.state == "in force"
        assert played.decision.loading == {"w1": ["fast"]}
        assert played.decision.in_force_s == pytest.approx(0.6, abs=0.05)
        assert played.decision.workers["w1"] == {"pool": "cpu", "device": "cpu", "router": "r1"}

    play(monkeypatch, scene)


def test_where_both_do_not_fit_routers_leave_the_old_before_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="fast")
        assert await played.run(w1="fast", w2="fast") is None
        assert played.log == [
            ("follow", "", "{'w1': [], 'w2': ['fast']}"),
            ("unload", "w1", "slow"),
            ("load", "w1", "fast"),
            ("follow", "", "{'w1': ['fast'], 'w2': ['fast']}"),
            ("sizes", "", "{'cpu': 2}"),
        ]

    play(monkeypatch, scene, memory_bytes=1)


def test_a_variant_that_cannot_be_loaded_ends_it_and_what_was_served_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "no such operator"
        await played.start(w1="slow", w2="slow")
        reason = await played.run(w1="fast", w2="slow")
        assert reason == "fast cannot be loaded in pool cpu"
        assert played.decision.state == "given up"
        assert played.decision.why_not == reason
        assert played.decision.failed == {"w1": {"fast": "no such operator"}}
        unloadable, now_s = played.known.unloadable, wall_clock()
        assert unloadable.in_pools(now_s) == unloadable.in_pools(now_s + FIRST_S - 1.0) == {("cpu", "fast")}
        assert unloadable.in_pools(now_s + FIRST_S) == unloadable.on_workers(now_s) == frozenset()
        assert played.log == [("load", "w1", "fast")]  # nobody was told anything
        assert played.pool.workers["w1"].loaded == {"slow"}

    play(monkeypatch, scene)


def test_what_one_worker_cannot_load_and_another_holds_is_left_out_on_that_worker_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "its checksum is another"
        await played.start(w1="slow fast", w2="")
        assert await played.run(w1="slow fast", w2="slow fast") is None
        assert played.serves == {"w1": {"slow", "fast"}, "w2": {"slow"}}
        assert played.decision.state == "in force"
        assert played.decision.failed == {"w2": {"fast": "its checksum is another"}}
        now_s = wall_clock()
        assert played.known.unloadable.on_workers(now_s) == {("w2", "fast")}
        assert played.known.unloadable.in_pools(now_s) == frozenset()
        played.log.clear()
        assert await played.run(w1="slow fast", w2="slow fast") is None
        assert not [each for each in played.log if each[0] in ("load", "unload")], "it is not tried again so soon"
        await asyncio.sleep(FIRST_S)
        played.pool.broken.clear()
        assert await played.run(w1="slow fast", w2="slow fast") is None
        assert played.serves == {"w1": {"slow", "fast"}, "w2": {"slow", "fast"}}

    play(monkeypatch, scene)


def test_what_nobody_holds_any_more_is_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "its checksum is another"
        await played.start(w1="slow fast", w2="")
        assert await played.run(w1="slow fast", w2="slow fast") is None
        played.pool.go("w1")
        assert await played.run(w2="slow fast") == "fast cannot be loaded in pool cpu"
        assert played.known.unloadable.in_pools(wall_clock()) == {("cpu", "fast")}

    play(monkeypatch, scene)


def test_a_worker_that_goes_while_it_loads_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        running = asyncio.create_task(played.run(w1="fast", w2="fast"))
        await asyncio.sleep(0.2)
        played.pool.go("w1")
        assert await running is None
        assert played.serves == {"w2": frozenset({"fast"})}
        assert played.decision.workers.keys() == {"w2"}

    play(monkeypatch, scene)


def test_a_worker_that_goes_before_it_unloads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        running = asyncio.create_task(played.run(w1="fast", w2="fast"))
        await asyncio.sleep(0.55)
        played.pool.go("w1")
        assert await running is None
        assert played.decision.state == "in force"
        assert played.pool.workers["w2"].loaded == {"fast"}

    play(monkeypatch, scene)


def test_what_a_dead_worker_was_to_hold_stays_with_others_before_serve_says_that_it_is_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow fast", w2="slow fast")
        del played.pool.workers["w2"]
        assert await played.run(w1="slow", w2="fast") is None
        assert played.serves == {"w1": frozenset({"slow", "fast"})}
        assert played.pool.workers["w1"].loaded == {"slow", "fast"}

    play(monkeypatch, scene)


def test_workers_without_a_place_in_the_plan_let_go_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow fast")
        assert await played.run(w1="slow") is None
        assert played.pool.workers["w2"].loaded == set()
        assert played.serves == {"w1": frozenset({"slow"})}

    play(monkeypatch, scene)


def test_workers_to_come_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow")
        assert await played.run(**{"w1": "slow", "cpu+1": "slow"}) is None
        assert played.serves.keys() == {"w1"}
        assert played.log[-1] == ("sizes", "", "{'cpu': 2}")

    play(monkeypatch, scene)


def test_workers_load_variants_with_the_batches_that_fit_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: dict[str, int] = {}
    load = PlayedPool.load

    async def noted(pool: PlayedPool, worker: str, variant: Variant) -> WorkerReport:
        loaded[variant.name] = variant.max_batch
        return await load(pool, worker, variant)

    async def scene(played: Scene) -> None:
        config = settings(pools={"cpu": replace(pool(), batch_bytes=30.0)})
        large = tuple(replace(each, row_bytes=10) for each in config.variants)
        played.known.book = VariantBook(replace(config, variants=large))
        await played.start(w1="slow")
        assert await played.run(w1="fast") is None
        assert loaded == {"fast": 3}

    monkeypatch.setattr(PlayedPool, "load", noted)
    play(monkeypatch, scene)


def test_a_router_that_does_not_follow_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        played.follows = False
        assert await played.run(w1="fast", w2="fast") is None
        assert played.decision.in_force_s == pytest.approx(0.5 + FOLLOW_S, abs=0.1)
        assert played.decision.state == "in force"

    play(monkeypatch, scene)


def test_the_decision_before_is_replaced_only_when_the_new_one_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        assert await played.run(w1="slow", w2="slow") is None
        first, played.decision = played.decision, played.known.decisions.begin("another", wall_clock())
        running = asyncio.create_task(played.run(w1="fast", w2="fast"))
        await asyncio.sleep(0.3)
        states: list[Decision] = [first, played.decision]
        assert [each.state for each in states] == ["in force", "loading"]
        await running
        assert [each.state for each in states] == ["replaced", "in force"]

    play(monkeypatch, scene)


async def _with_two_endpoints(played: Scene, w1: str = "slow") -> None:
    """w1 and w2 serve digits, w3 nothing yet."""
    played.endpoints = TWO_ENDPOINTS
    await played.start(w1=w1, w2="slow", w3="")
    assert await played.run(w1=w1, w2="slow", w3="") is None
    played.log.clear()
    played.decision = played.known.decisions.begin("another", wall_clock())


def test_what_shares_no_worker_with_those_that_load_does_not_wait_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        assert await played.run(w1="slow", w3="fast") is None
        assert played.log == [
            ("load", "w3", "fast"),
            ("follow", "", "{'w1': ['slow'], 'w3': []}"),
            ("follow", "", "{'w1': ['slow'], 'w3': ['fast']}"),
            ("unload", "w2", "slow"),
            ("sizes", "", "{'cpu': 2}"),
        ]

    play(monkeypatch, scene)


def test_each_part_switches_when_its_own_workers_have_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played, w1="")
        running = asyncio.create_task(played.run(w1="slow middle", w2="slow", w3="fast"))  # 1 s on w1, 0.5 on w3
        await asyncio.sleep(0.8)
        assert played.decision.state == "loading"
        assert played.serves == {"w1": set(), "w2": {"slow"}, "w3": {"fast"}}
        assert await running is None
        assert played.serves == {"w1": {"slow", "middle"}, "w2": {"slow"}, "w3": {"fast"}}

    play(monkeypatch, scene)


def test_workers_that_pass_from_one_endpoint_to_another_switch_with_all_of_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        assert await played.run(w1="slow", w2="fast", w3="middle") is None
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed == ["{'w1': ['slow'], 'w2': ['fast'], 'w3': ['middle']}"]

    play(monkeypatch, scene)


def test_a_part_that_has_switched_goes_back_where_another_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "no such operator"
        await _with_two_endpoints(played)
        assert await played.run(w1="slow", w3="fast") == "fast cannot be loaded in pool cpu"
        await asyncio.sleep(0.2)
        assert played.decision.state == "given up"
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed == ["{'w1': ['slow'], 'w3': []}", "{'w1': ['slow'], 'w2': ['slow'], 'w3': []}"]
        assert played.pool.workers["w2"].loaded == {"slow"}

    play(monkeypatch, scene)


def test_workers_that_serve_an_endpoint_with_what_it_is_to_lose_wait_for_its_new_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        played.endpoints = {"digits": served_by("middle"), "letters": served_by("fast")}
        # w1 and w2 pass to letters, and nobody but w3, which loads, is left for digits
        assert await played.run(w1="fast", w2="fast", w3="middle") is None
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed == ["{'w1': ['fast'], 'w2': ['fast'], 'w3': ['middle']}"]

    play(monkeypatch, scene)


@pytest.mark.parametrize("known", [True, False], ids=["gone", "gone, and Serve has not said so"])
def test_a_part_that_loses_a_worker_waits_for_the_rest(monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        running = asyncio.create_task(played.run(w2="slow", w3="fast"))
        if known:
            played.pool.go("w2")
        else:
            del played.pool.workers["w2"]
        assert await running is None
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed[-1] == "{'w1': ['slow'], 'w3': ['fast']}", "what only w2 was to serve stays with w1"
        assert all("'w1': ['slow']" in what for what in followed)

    play(monkeypatch, scene)

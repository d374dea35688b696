"""A plan that is made true, while a router follows and workers load; both are played."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import pytest
from controller_parts import PlayedPool, settings

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.serving import Service
from deployments.controller.plan_maker import Change, PlanMaker
from deployments.controller.rollout_runner import RolloutRunner
from deployments.controller.routing_tables import RoutingTables
from deployments.controller.variants.variant_book import VariantBook
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control import RouterState, RoutingTable
from deployments.state.saved_state import ControllerState
from deployments.worker import membership
from deployments.worker.client import WorkerClient
from dispatch.plan import EndpointLimits
from virtual_time import in_virtual_time, until, wall_clock

ENDPOINTS = {"digits": Service(EndpointLimits(0.2, True, 500), {}, {}, {})}


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
        return await self.runner.run(self.change({}, **held), self.decision, wall_clock())

    def change(self, fallback: Mapping[str, tuple[str, ...]], **held: str) -> Change:
        plan = ClusterPlan(
            fallback=fallback,
            held={worker: frozenset(names.split()) for worker, names in held.items()},
            shares={"digits": {}},
            demand_qps={"digits": 1.0},
            served_qps={"digits": 1.0},
            capacity_qps={"digits": 1.0},
            accuracy={"digits": 1.0},
            pool_sizes={"cpu": len(held)},
            report=SolveReport(Status.OPTIMAL, 0.0, 0.0),
        )
        return Change(plan, self.endpoints, {"cpu": len(held)}, dict.fromkeys(self.pool.workers, self._limit_bytes))

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

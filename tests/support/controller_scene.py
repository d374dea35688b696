"""A whole service around one controller, in virtual time: its workers, its routers and Serve are played."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import pytest
from controller_parts import DictStore, PlayedPool, PlayedWorker

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from autoscaler.planners.planner import Planner
from deployments.controller import controller as controller_module
from deployments.controller.controller import Controller
from deployments.messages.control import WINDOW_S, RouterReport, RouterState, RoutingTable
from deployments.messages.control_settings import ControlSettings
from deployments.state.decisions import Decision
from deployments.worker import membership
from deployments.worker.client import WorkerClient
from virtual_time import in_virtual_time, until, wall_clock, without_threads


class PlannerHere:
    """Plans on the spot, which takes ``solve_s``; ``answer`` speaks instead of the planner."""

    solve_s = 0.1
    answer: Callable[[Planner, Observation], ClusterPlan | NoPlan] = staticmethod(
        lambda planner, observation: planner.plan(observation)
    )

    async def plan(self, planner: Planner, observation: Observation) -> ClusterPlan | NoPlan:
        await asyncio.sleep(self.solve_s)
        return type(self).answer(planner, observation)


class PlayedRouter:
    """Follows routing tables and reports, as a router does; batches end ``drain_s`` after a worker was taken away.

    ``qps`` is what comes to it by endpoint. ``deaf`` it does not follow, ``mute`` it says nothing and asks nothing.
    """

    drain_s = 0.02

    def __init__(self, name: str, service: "Service") -> None:
        self.name = name
        self._service = service
        self.qps: dict[str, float] = {}
        self.routing_table: RoutingTable | None = None
        self.using: set[str] = set()
        self.runs: dict[tuple[str, str, str], float] = {}
        self.deaf = False
        self.mute = False
        self.unsent: list[RouterReport] = []
        self._dead = False
        self._due: defaultdict[str, float] = defaultdict(float)
        self._tasks = [asyncio.create_task(work) for work in (self._follow(), self._report(), self._join())]

    @property
    def following(self) -> int:
        return 0 if self.routing_table is None else self.routing_table.version

    @property
    def mine(self) -> dict[str, frozenset[str]]:
        """What its workers serve by the routing table that it follows."""
        workers = {} if self.routing_table is None else self.routing_table.workers
        return {worker: routing.serves for worker, routing in workers.items() if routing.router == self.name}

    def die(self) -> None:
        self._dead = True
        for task in self._tasks:
            task.cancel()
        self.using.clear()

    def router_state(self) -> RouterState:
        return RouterState(self.name, self.following, frozenset(self.using))

    async def _follow(self) -> None:
        while not self._dead:  # a cancelled `asyncio.wait_for` may return all the same
            controller = self._service.controller
            if controller is None or self.deaf or self.mute:
                await asyncio.sleep(0.1)
                continue
            routing_table = await controller.routing_table(self.name, self.following, 2.0)
            if routing_table is None or self.deaf or controller is not self._service.controller:
                continue
            assert routing_table.version > self.following
            self.routing_table = routing_table
            self._stand()
            await asyncio.sleep(self.drain_s)
            self.using &= self.mine.keys()
            self._stand()

    async def _join(self) -> None:
        """A worker is used once it says that it is this router's."""
        while True:
            there = self._service.workers
            ready = {worker for worker in self.mine if worker in there and there[worker].router == self.name}
            self.using &= there.keys()
            if ready - self.using:
                self.using |= ready
                self._stand()
            await asyncio.sleep(0.05)

    async def _report(self) -> None:
        """At the end of every window; what could not be said is said later, window by window."""
        window = int(wall_clock() / WINDOW_S)
        while True:
            await asyncio.sleep(max((window + 1) * WINDOW_S - wall_clock(), 0.0))
            arrived = {}
            for name, qps in self.qps.items():
                self._due[name] += qps * WINDOW_S
                arrived[name] = int(self._due[name])
                self._due[name] -= arrived[name]
            runs = {}
            for key, ratio in self.runs.items():
                counts = [0] * BIN_COUNT
                counts[bin_of(ratio)] = 20
                runs[key] = tuple(counts)
            self.unsent.append(RouterReport(self.router_state(), window, arrived, {}, runs, {}))
            window = max(window + 1, int(wall_clock() / WINDOW_S))
            while self.unsent and self._service.controller is not None and not self.mute:
                self._service.controller.report(self.unsent.pop(0))
                await asyncio.sleep(0.005)

    def _stand(self) -> None:
        if self._service.controller is not None and not self.mute:
            self._service.controller.stand(self.router_state())


class Service:
    """Pools, routers and one controller after the other; watches what must hold at every instant.

    A worker is in the hands of one router at most, and a routing table that a router follows names no variant that its
    worker does not hold, as long as the router keeps up.
    """

    def __init__(self, settings: ControlSettings, store: DictStore) -> None:
        self.settings = settings
        self.store = store
        self.pools = {name: PlayedPool(name, each.memory_bytes) for name, each in settings.pools.items()}
        self.routers: dict[str, PlayedRouter] = {}
        self.controller: Controller | None = None
        self.published: list[tuple[float, dict[str, int]]] = []
        self.on_publish: Callable[[Mapping[str, int]], None] = lambda sizes: None
        self.wrong: list[str] = []
        self._watching = asyncio.create_task(self._watch())

    @property
    def workers(self) -> dict[str, PlayedWorker]:
        return {worker: there for pool in self.pools.values() for worker, there in pool.workers.items()}

    @property
    def one(self) -> Controller:
        assert self.controller is not None
        return self.controller

    def router(self, name: str, **qps: float) -> PlayedRouter:
        """Another router comes."""
        self.routers[name] = PlayedRouter(name, self)
        self.routers[name].qps = dict(qps)
        return self.routers[name]

    async def control(self, settings: ControlSettings | None = None) -> Controller:
        """A controller comes, the one before is gone."""
        self.end_control()
        clients = cast("dict[str, WorkerClient]", self.pools)
        made = Controller(settings or self.settings, clients, self.store, self._publish, wall_clock)
        self.controller = made
        await made.start()
        return made

    def end_control(self) -> None:
        """The controller dies, in the middle of whatever it does."""
        if self.controller is not None:
            membership._listeners.clear()
            self.controller._worker_registry._pool_of.clear()  # nothing that it still says reaches a worker
            for task in self.controller._tasks | self.controller._worker_registry._tasks:
                task.cancel()
            self.controller = None

    @property
    def decisions(self) -> list[Decision]:
        return list(self.one._known.decisions._all)

    @property
    def in_force(self) -> Decision:
        decision = self.one._known.decisions.in_force
        assert decision is not None
        return decision

    def held(self) -> dict[str, list[str]]:
        """By worker what the plan in force has it hold."""
        assert self.in_force.plan is not None
        held: dict[str, list[str]] = self.in_force.plan["held"]
        return held

    async def steady(self, within_s: float = 30.0) -> Decision:
        """Wait until a plan is in force, none is under way and all routers follow; gives the plan's decision."""
        await until(self._at_rest, within_s)
        return self.in_force

    def _at_rest(self) -> bool:
        decisions, routing_table = self.one._known.decisions, self.one._routing_tables._current
        return (
            decisions.in_force is not None
            and not self.one._loop._under_way
            and not self.one._loop._asked
            and routing_table is not None
            and all(routing.router is not None for routing in routing_table.workers.values())
            and all(router.following == routing_table.version for router in self.routers.values())
            and all(router.using == router.mine.keys() & self.workers.keys() for router in self.routers.values())
        )

    def _publish(self, sizes: Mapping[str, int]) -> None:
        self.published.append((wall_clock(), dict(sizes)))
        self.on_publish(sizes)

    async def _watch(self) -> None:
        while True:
            hands = Counter(worker for router in self.routers.values() for worker in router.using)
            self.wrong += [f"{worker} is in {count} hands" for worker, count in hands.items() if count > 1]
            for router in self.routers.values():
                for worker, serves in ({} if router.deaf else router.mine).items():
                    there = self.workers.get(worker)
                    if there is not None and worker in router.using and serves - there.loaded:
                        self.wrong.append(f"{router.name} uses {worker} for {sorted(serves - there.loaded)}")
            await asyncio.sleep(0.01)


Scene = Callable[[Service], Coroutine[Any, Any, None]]


def play(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, settings: ControlSettings, store: DictStore | None = None
) -> None:
    """Play a scene; fails as well where something was wrong at any instant of it."""
    without_threads(monkeypatch)
    monkeypatch.setattr(membership, "_live", {})
    monkeypatch.setattr(membership, "_listeners", {})
    monkeypatch.setattr(controller_module, "PlannerProcess", PlannerHere)

    async def whole() -> None:
        service = Service(settings, store or DictStore())
        await scene(service)
        assert service.wrong == []
        assert [pool.overflows for pool in service.pools.values() if pool.overflows] == []

    in_virtual_time(whole)


async def started(service: Service, **qps: float) -> None:
    """Workers w1 and w2 in pool cpu, and the router r1 with so many queries a second."""
    service.pools["cpu"].come("w1", "w2")
    service.router("r1", **qps)
    await service.control()
    await service.steady()

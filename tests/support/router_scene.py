"""A router among workers that are played, in virtual time."""

import asyncio
import functools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, cast

import numpy as np

from autoscaler.placement.serving import Service
from catalog.tensor import Arrays
from deployments.messages.control import RoutingTable, WorkerRouting
from deployments.messages.worker import BatchResult, WorkerReport
from deployments.router.peers import Peers
from deployments.router.router import Router
from deployments.worker import membership
from deployments.worker.client import WorkerClient, WorkerGone
from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.round_robin import RoundRobin
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.table_plan import with_tables
from dispatch.worker_info import WorkerInfo
from virtual_time import VirtualLoop

P = ParamSpec("P")

ME = "r1"
BATCH_S = 0.001
DOUBLE = Candidate("double", 0.9, (0.0, *4 * (BATCH_S,)))
TRIPLE = Candidate("triple", 0.8, (0.0, *4 * (BATCH_S,)))
BOTH = ("double", "triple")
TIMES = {"double": 2, "triple": 3}


def virtually(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in virtual time; what goes wrong in a callback, or in a task that nobody waits for, fails it."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        wrong: list[Mapping[str, Any]] = []
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.get_loop().set_exception_handler(lambda _, context: wrong.append(context))
            runner.run(test(*args, **kwargs))
        assert wrong == []

    return run


def now_s() -> float:
    """The time of the loop that runs."""
    return asyncio.get_running_loop().time()


async def settled() -> None:
    """Let all that can happen now happen, without time passing."""
    for _ in range(50):
        await asyncio.sleep(0)


def digits(admission: AdmissionRules | None = None) -> EndpointPlan:
    """The endpoint as the application was built: both variants, in turn on every worker."""
    return EndpointPlan.of_stage(
        "digits",
        StagePlan({"cpu": (DOUBLE, TRIPLE)}, GreedySelection(), RoundRobin()),
        slo_s=0.1,
        max_queued_rows=100,
        admission=admission,
    )


def by_tables() -> EndpointPlan:
    """The endpoint served by tables that know only the variant ``triple``."""
    problem = WorkerProblem.of((TRIPLE,), 0.1, 1, Poisson(1.0))
    grid = TableGrid((), replace(beyond_table(problem, 1), expected_accuracy=0.7, expected_violation_rate=0.01))
    return with_tables(digits(), {"cpu": grid})


def service(
    candidates: Mapping[str, tuple[Candidate, ...]] | None = None,
    shares: Mapping[str, float] | None = None,
    slo_s: float = 0.1,
    drop_late: bool = False,
    admission: AdmissionRules | None = None,
) -> Service:
    """How the endpoint is served; without arguments as it was built, for pool ``pool``."""
    offered = {"pool": (DOUBLE, TRIPLE)} if candidates is None else candidates
    return Service(EndpointLimits(slo_s, drop_late, 100, admission), offered, shares, {})


def routing_table(
    version: int,
    serves: Mapping[str, tuple[str, ...]],
    routers: Mapping[str, str | None] | None = None,
    endpoint: Service | None = None,
) -> RoutingTable:
    """What every worker serves; those that ``routers`` does not name are this router's."""
    workers = {
        worker: WorkerRouting(WorkerInfo("cpu", "pool"), frozenset(held), (routers or {}).get(worker, ME))
        for worker, held in serves.items()
    }
    names = frozenset(each.router for each in workers.values() if each.router is not None)
    profiled_s = {("pool", name): DOUBLE.latency_s for name in BOTH}
    return RoutingTable(
        version,
        version,
        {"digits": endpoint or service()},
        workers,
        profiled_s=profiled_s,
        transport_s={"pool": 0.001},
        routers=names | {ME},
    )


def _answer(variant: str, inputs: Arrays) -> BatchResult:
    return BatchResult({"y": inputs["x"] * TIMES[variant]}, BATCH_S)


@dataclass
class PlayedPool:
    """Workers that take ``run_s`` for a batch, one after the other, and then answer it by a function of theirs or raise
    WorkerGone.

    Those of ``hanging`` never answer. ``router`` is where workers belong, where ``assigned`` has no other.
    """

    workers: dict[str, Callable[[str, Arrays], BatchResult]] = field(default_factory=dict)
    run_s: float = BATCH_S
    loaded: tuple[str, ...] = BOTH
    failed: dict[str, str] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    assigned: dict[str, str | None] = field(default_factory=dict)
    batches: list[tuple[str, str, int]] = field(default_factory=list)
    described: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    describe_failures: int = 0
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    def follow(self) -> None:
        """Serve speaks when the test says so."""

    async def describe(self, worker: str) -> WorkerReport:
        self.described.append(worker)
        if self.describe_failures > 0:
            self.describe_failures -= 1
            raise WorkerGone("not there yet")
        return WorkerReport(WorkerInfo("cpu", "pool"), self.loaded, self.failed, 7, self.assigned.get(worker, ME))

    async def connect(self, worker: str) -> None:
        """There is one way to these."""

    async def run(self, worker: str, variant: str, inputs: Arrays) -> BatchResult:
        self.batches.append((worker, variant, len(inputs["x"])))
        came_s = now_s()
        async with self.turns[worker]:
            waited_s = now_s() - came_s
            if worker in self.hanging:
                await asyncio.Event().wait()
            await asyncio.sleep(self.run_s)
        if worker in self.dead:
            raise WorkerGone("ActorDiedError")
        return replace(self.workers.get(worker, _answer)(variant, inputs), waited_s=waited_s)

    def forget(self, worker: str) -> None:
        self.forgotten.append(worker)

    @property
    def client(self) -> WorkerClient:
        return cast(WorkerClient, self)


@dataclass
class Scene:
    """One router and its pool; `members` and `follow` are what Serve and the controller say."""

    router: Router
    pool: PlayedPool
    version: int = 0

    async def members(self, *workers: str) -> None:
        """Serve calls these alive."""
        membership.update("pool", frozenset(workers))
        await settled()

    async def follow(self, *workers: str, endpoint: Service | None = None, **serves: tuple[str, ...]) -> None:
        """A newer routing table: ``workers`` serve both variants, and those of ``serves`` these."""
        self.version += 1
        self.router.follow(routing_table(self.version, dict.fromkeys(workers, BOTH) | serves, endpoint=endpoint))
        await settled()

    async def join(self, *workers: str) -> None:
        """These are alive, and the router's."""
        await self.members(*workers)
        await self.follow(*workers)
        assert self.router.workers.using == {*workers}

    async def ask(self, value: float, slo_s: float | None = 5.0) -> float:
        """One query; what it is answered with."""
        answer = await self.router.infer("digits", {"x": np.array([value])}, 1, slo_s)
        return float(answer.outputs["y"][0])

    @property
    def queued(self) -> int:
        return int(self.router.status()["endpoints"]["digits"]["queued"])


@asynccontextmanager
async def routing(
    plan: Plan | None = None, peers: Peers | None = None, pool: PlayedPool | None = None
) -> AsyncIterator[Scene]:
    """A router that has begun, without workers; nobody listens to Serve afterwards."""
    pool = pool or PlayedPool()
    router = Router(ME, plan or Plan(1, {"digits": digits()}), {"pool": pool.client}, peers, now_s)
    membership.update("pool", frozenset())
    try:
        await router.start()
        await settled()
        yield Scene(router, pool)
    finally:
        membership.listen("pool", _deaf)
        membership.update("pool", frozenset())


def _deaf(live: frozenset[str]) -> None:
    """Nobody listens."""

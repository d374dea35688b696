"""What routers are told, and which router each worker belongs to."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from autoscaler.placement.ownership import assign_routers
from autoscaler.placement.serving import Service
from autoscaler.placement.transition.parts import Part
from catalog.evaluation.measured import AccuracyOrigin
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control import RouterState, RoutingTable, WorkerRouting
from deployments.worker.client import WorkerGone

logger = logging.getLogger("ray.serve")

T = TypeVar("T")

SILENT_S = 3.0
"""A router that has said nothing for so long is gone, where others have; its workers go to them."""

ASSIGN_S = 0.5
"""A worker changes its router within milliseconds, or when the batch that it runs has ended."""


@dataclass(frozen=True)
class RoutingContent:
    """A routing table without its version, and without the routers of the workers.

    ``planned`` is what workers hold by the plan, by which they are shared out: fallback variants that come one by one
    move no worker from router to router. Who is not in it is taken for what it ``serves``.
    """

    plan_version: int
    endpoints: Mapping[str, Service]
    serves: Mapping[str, frozenset[str]]
    profiled_s: Mapping[tuple[str, str], tuple[float, ...]]
    transport_s: Mapping[str, float]
    emulated: frozenset[str] = frozenset()
    origins: Mapping[str, AccuracyOrigin] = field(default_factory=dict)
    slowdowns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    planned: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def with_parts(self, later: "RoutingContent", parts: Iterable[Part]) -> "RoutingContent":
        """What routers are told while only these parts of a change to ``later`` are made; the rest is as before.

        Slowdowns that the plan before knows are its own, since routers report under its version until the new one is in
        force.
        """
        endpoints = frozenset(name for part in parts for name in part.endpoints)
        workers = frozenset(worker for part in parts for worker in part.workers)
        return replace(
            later,
            plan_version=self.plan_version,
            endpoints=_mixed(self.endpoints, later.endpoints, endpoints),
            serves=_mixed(self.serves, later.serves, workers),
            slowdowns=dict(self.slowdowns)
            | {
                worker: {**later.slowdowns.get(worker, {}), **self.slowdowns.get(worker, {})}
                for worker in workers & (later.slowdowns.keys() | self.slowdowns.keys())
            },
            planned=_mixed(self.planned, later.planned, workers),
        )


def _mixed(before: Mapping[str, T], later: Mapping[str, T], switched: Collection[str]) -> dict[str, T]:
    """Those switched as they are later, all others as before."""
    stay = {name: each for name, each in before.items() if name not in switched}
    return stay | {name: each for name, each in later.items() if name in switched}


class RoutingTables:
    """Makes a routing table of the newest content for routers that ask, and hands workers from router to router.

    A worker is owned by one router: it takes batches of no other, whatever routers believe. It passes on when the
    router before uses it no more, or is gone. Routers that leave keep none where others stay. Versions begin above
    ``epoch`` millions, so that a controller that was replaced is never believed again; what the next hears of routers
    before its first word counts as well.
    """

    def __init__(self, worker_registry: WorkerRegistry, epoch: int, clock: Callable[[], float]) -> None:
        self._worker_registry = worker_registry
        self._clock = clock
        self._version = epoch * 1_000_000
        self._content: RoutingContent | None = None
        self._current: RoutingTable | None = None
        self._router_states: dict[str, RouterState] = {}
        self._heard_s: dict[str, float] = {}
        self._withheld: dict[str, int] = {}
        """Worker to the first version that takes it from its router."""
        self._passing: dict[str, asyncio.Task[bool]] = {}
        self._settled: object = None
        """Workers, their routers and all routers when all was handed over: while these stay, nothing is to be done."""
        self._settling = asyncio.Lock()
        self._news = asyncio.Event()

    @property
    def content(self) -> RoutingContent | None:
        """What routers were told last; None where they were told nothing yet."""
        return self._content

    @property
    def routers(self) -> frozenset[str]:
        """Those that are there."""
        return frozenset(self._router_states)

    @property
    def staying(self) -> frozenset[str]:
        """Those that queries come to: not those that leave, unless all do."""
        return frozenset(name for name, state in self._router_states.items() if not state.leaving) or self.routers

    def on_router_state(self, router_state: RouterState) -> None:
        """A router says how it stands."""
        if self._current is None:  # where the epoch was lost with the state, routers know better
            self._version = max(self._version, router_state.following)
        self._router_states[router_state.router] = router_state
        self._heard_s[router_state.router] = self._clock()
        self._wake()

    def on_router_gone(self, router: str) -> None:
        """A router is not there any more."""
        if self._router_states.pop(router, None) is not None:
            self._heard_s.pop(router, None)
            logger.info("Router %s is gone; others get its workers.", router)
            self._wake()

    def silent(self) -> list[str]:
        """Routers that should have spoken, since others have: where nobody does, it is the machine or this process.

        A router that is by itself keeps its workers, whatever it says: nobody else could use them.
        """
        now_s = self._clock()
        silent = [router for router, heard_s in self._heard_s.items() if now_s - heard_s > SILENT_S]
        return silent if len(silent) < len(self._heard_s) else []

    async def publish(self, content: RoutingContent) -> int:
        """Tell routers something new; gives the version to wait for with `followed`."""
        self._content = content
        await self._settle(anew=True)
        return self._version

    async def settle(self) -> None:
        """Hand over the workers that can be handed over now; call it again and again."""
        await self._settle(anew=False)

    async def next(self, router: str, newer_than: int, wait_s: float) -> RoutingTable | None:
        """The newest routing table for a router that follows ``newer_than``; None where there is none in ``wait_s``."""
        end_s = self._clock() + wait_s
        if router in self._heard_s:  # of its question only: who asked may be dead before it is answered
            self._heard_s[router] = self._clock()
        while self._current is None or self._current.version <= newer_than:
            if not await self._woken(end_s):
                return None
        return self._current

    async def followed(self, version: int, within_s: float) -> bool:
        """Wait until all routers follow this version or a newer one; False where some do not in time."""
        end_s = self._clock() + within_s
        while any(router_state.following < version for router_state in self._router_states.values()):
            if not await self._woken(end_s):
                return False
        return True

    # -- inner steps ------------------------------------------------------------------------------------------

    async def _settle(self, anew: bool) -> None:
        async with self._settling:
            content = self._content
            if content is None:
                return
            routers = self.staying
            assigned = {w: report.router for w, report in self._worker_registry.reports.items() if w in content.serves}
            kinds = {
                w: (self._worker_registry.reports[w].info.pool, content.planned.get(w, content.serves[w]))
                for w in assigned
            }
            if not anew and self._settled == (kinds, assigned, routers):
                return
            owners = {w: router for w, router in assigned.items() if router in self._router_states}
            wanted = assign_routers(kinds, routers, {w: r for w, r in owners.items() if r is not None})
            free = []
            for worker, router in wanted.items():
                owner = assigned[worker]
                if owner == router:
                    anew |= self._withheld.pop(worker, None) is not None
                elif owner is None or owner not in self._router_states or self._let_go(worker, owner):
                    free.append(worker)
                elif worker not in self._withheld:
                    self._withheld[worker] = self._version + 1
                    anew = True
            anew |= self._current is not None and self._current.routers != routers
            self._settled = (kinds, assigned, routers) if wanted == assigned else None
            if await self._pass_all({worker: wanted[worker] for worker in free}) or anew:
                self._tell(content)

    def _let_go(self, worker: str, owner: str) -> bool:
        """Whether the router that owns a worker knows that it is to leave it, and has."""
        router_state = self._router_states[owner]
        since = self._withheld.get(worker)
        return since is not None and router_state.following >= since and worker not in router_state.using

    async def _pass_all(self, wanted: Mapping[str, str]) -> bool:
        """Hand workers to routers; whether any has changed hands. One that does not answer holds up nobody else."""
        begun = wanted.keys() - self._passing.keys()
        for worker in begun:
            self._passing[worker] = asyncio.get_running_loop().create_task(self._pass(worker, wanted[worker]))
        if begun:
            await asyncio.wait([self._passing[worker] for worker in begun], timeout=ASSIGN_S)
        done = [worker for worker, task in self._passing.items() if task.done()]
        changed = [self._passing.pop(worker).result() for worker in done]
        return any(changed)

    async def _pass(self, worker: str, router: str) -> bool:
        try:
            await self._worker_registry.assign(worker, router)
        except WorkerGone:
            return False  # the worker registry will say so
        self._withheld.pop(worker, None)
        return True

    def _tell(self, content: RoutingContent) -> None:
        self._version += 1
        workers = {}
        for worker, serves in content.serves.items():
            report = self._worker_registry.reports.get(worker)
            if report is not None:
                owner = None if worker in self._withheld or report.router not in self._router_states else report.router
                slowdowns = content.slowdowns.get(worker, {})
                workers[worker] = WorkerRouting(report.info, serves, owner, slowdowns)
        self._current = RoutingTable(
            self._version,
            content.plan_version,
            content.endpoints,
            workers,
            content.profiled_s,
            content.transport_s,
            self.staying,
            content.emulated,
            content.origins,
        )
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _woken(self, end_s: float) -> bool:
        """Wait for anything to change; False where ``end_s`` comes first."""
        left_s = end_s - self._clock()
        if left_s <= 0:
            return False
        try:
            await asyncio.wait_for(self._news.wait(), left_s)
        except TimeoutError:
            return False
        return True

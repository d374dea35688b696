"""The workers of one router: alive, given to it by the controller, and heard of by itself."""

import asyncio
import functools
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Set
from math import inf
from typing import Any

from deployments.messages.control import WorkerRouting
from deployments.messages.worker import WorkerReport
from deployments.router.held import stages_served
from deployments.router.observing.worker_events import WorkerEvent, WorkerEvents
from deployments.worker.client import WorkerClient, WorkerGone, follow_pools
from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from dispatch.plan import Plan
from dispatch.query import Batch

logger = logging.getLogger("ray.serve")

DESCRIBE_RETRY_S = 0.5
DESCRIBE_TIMEOUT_S = 60.0
FIRST_WORKERS_S = 5.0
"""So long after a router's start workers that it is to get are on their way: a router that died keeps them for some 3 s
(`deployments.controller.routing_tables`)."""

HAND_OVER_S = 2.0
"""A worker that has no router, or one that leaves, gets another within tenths of a second, or when its batch ends."""

LEAVE_S = 5.0
"""A worker that goes has so long for what it runs; then others get it."""

NOTHING: frozenset[str] = frozenset()

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class RouterWorkers:
    """Lets workers into a dispatcher and out of it; lives on the router's event loop.

    A worker joins when Serve calls it alive, the controller has given it to this router, and it has answered. It
    leaves when any of these ends: it gets no new batch, and what it still runs is waited for, `LEAVE_S` at most, unless
    a call to it failed. ``carry_out`` gets the dispatcher's commands, ``on_change`` hears when workers come or go.
    """

    def __init__(
        self,
        router: str,
        dispatcher: Dispatcher,
        clients: Mapping[str, WorkerClient],
        clock: Callable[[], float],
        carry_out: Callable[[Iterable[Command]], None],
        spawn: Spawn,
    ) -> None:
        self._router = router
        self._dispatcher = dispatcher
        self._clients = clients
        self._clock = clock
        self._carry_out = carry_out
        self._spawn = spawn
        self._first_until_s = clock() + FIRST_WORKERS_S
        self._pool_of: dict[str, str] = {}
        self._mine: dict[str, WorkerRouting] = {}
        self._joining: set[str] = set()
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        self.reports: dict[str, WorkerReport] = {}
        self.calls: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self.events = WorkerEvents()
        self.on_change: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Begin to follow the workers of every pool; returns at once, workers join as they come."""
        follow_pools(self._clients, self._on_members)
        self._dispatcher.queues.expect_workers(dict.fromkeys(self._dispatcher.plan.endpoints, self._first_until_s))

    @property
    def using(self) -> frozenset[str]:
        """Workers that batches may be launched on, and those that still run one."""
        return frozenset(self._dispatcher.workers)

    def pools(self) -> list[str]:
        """The pool of each of them."""
        return [state.info.pool for state in self._dispatcher.workers.values()]

    def client(self, worker: str) -> WorkerClient:
        """The way to a worker; raises `WorkerGone` for one that is not alive."""
        pool = self._pool_of.get(worker)
        if pool is None:
            raise WorkerGone("Serve reported its loss")
        return self._clients[pool]

    def follow(self, workers: Mapping[str, WorkerRouting]) -> dict[str, frozenset[str]]:
        """The controller's newest word; gives what every worker in the dispatcher serves from now on.

        The caller puts that in force and then calls `settle`.
        """
        self._mine = {worker: routing for worker, routing in workers.items() if routing.router == self._router}
        self.events.keep_hanging(self._mine)
        return {worker: self._serves(worker) for worker in self._dispatcher.workers}

    def expect(self, plan: Plan, workers: Mapping[str, WorkerRouting], staying: Set[str]) -> None:
        """Of the endpoints of a plan that comes into force, those that no worker serves need not wait for any.

        Workers of no router, and of routers that are not ``staying``, are on their way to somebody who is; this
        router's own are until they have joined.
        """
        until_s = {}
        coming_s = self._first_until_s
        if self._mine.keys() - self.using or any(routing.router not in staying for routing in workers.values()):
            coming_s = max(coming_s, self._clock() + HAND_OVER_S)
        for name, endpoint in plan.endpoints.items():
            promised = endpoint.flow.answers_with(stages_served(endpoint, workers.values()))
            until_s[name] = coming_s if promised else -inf
        self._dispatcher.queues.expect_workers(until_s)

    def predicted(self, workers: Mapping[str, WorkerRouting]) -> dict[str, Mapping[str, float]]:
        """The slowdowns predicted of workers that are this router's, or may just be leaving it."""
        there = {worker: routing for worker, routing in workers.items() if routing.slowdowns}
        return {worker: each.slowdowns for worker, each in there.items() if each.router in (None, self._router)}

    def settle(self) -> None:
        """Begin to add the workers that are missing, and to remove those that are not this router's any more."""
        for worker in list(self._dispatcher.workers):
            if worker not in self._mine:
                self._leave(worker)
            elif worker in self._leaving and worker in self._pool_of:
                self._leaving.pop(worker).cancel()
        for worker in sorted(self._mine.keys() & self._pool_of.keys()):
            self._begin_join(worker)

    def lose(self, worker: str, *, died: bool = False) -> None:
        """Take a worker out at once, and give up on the call that it may never answer; it may come back."""
        now_s = self._clock()
        self._let_go(worker)
        if died:
            self.events.on_event(worker, WorkerEvent.DIED, now_s)
        self._carry_out(self._dispatcher.on_workers_lost([worker], now_s, died=died))
        self.on_change()
        self._begin_join(worker, DESCRIBE_RETRY_S)

    def give_up(self, worker: str) -> None:
        """The dispatcher uses a worker no more that does not answer; it may come back, and is asked until it does."""
        self._let_go(worker)
        self.events.on_event(worker, WorkerEvent.HANGS, self._clock())
        if worker not in self._mine or worker not in self._pool_of:
            self.events.forget_hanging(worker)  # it was leaving, and nobody asks it again
        asyncio.get_running_loop().call_soon(self.on_change)  # the dispatcher's other commands come first
        self._begin_join(worker, DESCRIBE_RETRY_S)

    def ended(self, batch: Batch) -> None:
        """A batch came back from its worker, which may run others by now."""
        if (task := asyncio.current_task()) is not None:
            self.calls.get(batch.worker, set()).discard(task)
        state = self._dispatcher.workers.get(batch.worker)
        if batch.worker in self._leaving and (state is None or not state.under_way):
            self.lose(batch.worker)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _let_go(self, worker: str) -> None:
        self.reports.pop(worker, None)
        if (timer := self._leaving.pop(worker, None)) is not None:
            timer.cancel()
        for call in self.calls.pop(worker, ()):
            if call is not asyncio.current_task():
                call.cancel()

    def _on_members(self, pool: str, live: frozenset[str]) -> None:
        """Serve says who is alive, or who is not told to stop."""
        for worker in [worker for worker, of in self._pool_of.items() if of == pool and worker not in live]:
            del self._pool_of[worker]
            if worker in self._mine:
                self.events.on_event(worker, WorkerEvent.GONE, self._clock())
            self.events.forget_hanging(worker)
            self._clients[pool].forget(worker)
            self._leave(worker)
        for worker in sorted(live - self._pool_of.keys()):
            self._pool_of[worker] = pool
            self._begin_join(worker)

    def _serves(self, worker: str) -> frozenset[str]:
        routing, report = self._mine.get(worker), self.reports.get(worker)
        if routing is None or worker not in self._pool_of or report is None:
            return NOTHING
        return routing.serves

    def _begin_join(self, worker: str, after_s: float = 0.0) -> None:
        wanted = worker in self._mine and worker in self._pool_of
        if wanted and worker not in self._joining and worker not in self._dispatcher.workers:
            self._joining.add(worker)
            self._spawn(self._join(worker, after_s))

    async def _join(self, worker: str, after_s: float) -> None:
        """Ask a worker until it says that it is this router's."""
        try:
            await asyncio.sleep(after_s)
            while (pool := self._pool_of.get(worker)) is not None and worker in self._mine:
                try:
                    report = await asyncio.wait_for(self._clients[pool].describe(worker), DESCRIBE_TIMEOUT_S)
                except (WorkerGone, TimeoutError):
                    report = None
                if report is not None and report.router == self._router:
                    break
                await asyncio.sleep(DESCRIBE_RETRY_S)
            else:
                return
            await self._clients[pool].connect(worker)
        finally:
            self._joining.discard(worker)
        routing = self._mine.get(worker)
        if routing is None or worker not in self._pool_of or worker in self._dispatcher.workers:
            return
        self.reports[worker] = report
        self.events.on_event(worker, WorkerEvent.JOINED, self._clock())
        for variant, reason in report.failed.items():
            logger.error("Worker %s cannot load variant %s: %s", worker, variant, reason)
        serves = routing.serves & frozenset(report.loaded)
        ready = self._dispatcher.on_worker_ready(worker, routing.info, serves, self._clock())
        self._carry_out(ready)
        self.on_change()

    def _leave(self, worker: str) -> None:
        state = self._dispatcher.workers.get(worker)
        if state is None or worker in self._leaving:
            return
        self._carry_out(self._dispatcher.reassign({worker: NOTHING}, self._clock()))
        if not state.under_way:
            self.lose(worker)
        else:
            give_up = functools.partial(self.lose, worker)
            self._leaving[worker] = asyncio.get_running_loop().call_later(LEAVE_S, give_up)

"""The router: the live host of the dispatcher. It turns events into its calls, and its commands into I/O."""

import asyncio
import functools
import itertools
import logging
import math
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from catalog.tensor import Arrays
from deployments import membership
from deployments.router_stats import EndpointStats
from deployments.worker_client import WorkerClient, WorkerGone
from deployments.worker_messages import WorkerReport
from dispatch.commands import Answer, Command, Launch, Reject, Served, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.guarantee import GuaranteeMonitor
from dispatch.plan import Plan
from dispatch.query import Batch, Query
from dispatch.refusals import unknown_endpoint
from dispatch.selection.ramsis.policy import RamsisSelection

logger = logging.getLogger("ray.serve")

BATCH_TIMEOUT_S = 60.0
"""A worker that has not answered for so long counts as lost."""

DESCRIBE_RETRY_S = 0.5
LONGEST_TIMER_S = 3600.0
ROUNDING_S = 1e-6


class Router:
    """Answers queries through one `Dispatcher`; lives on one event loop and is not thread-safe.

    ``clients`` are the pools; a worker of theirs joins when Serve reports it and it has described itself, and
    leaves when Serve reports its loss or a call to it fails, whichever is first.
    """

    def __init__(self, plan: Plan, clients: Mapping[str, WorkerClient], clock: Callable[[], float] = time.monotonic):
        self._dispatcher = Dispatcher(plan)
        self._clients = clients
        self._clock = clock
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Answer]] = {}
        self._pool_of: dict[str, str] = {}
        self._reports: dict[str, WorkerReport] = {}
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.stats = {name: EndpointStats() for name in plan.endpoints}
        self.guarantees = {name: GuaranteeMonitor(name, clock()) for name in plan.endpoints}

    async def start(self) -> None:
        """Begin to follow the workers of every pool; returns at once, workers join as they come."""
        loop = asyncio.get_running_loop()
        for pool, client in self._clients.items():
            # Serve may report from a thread of its own; the router lives on this loop.
            report = functools.partial(self._on_members, pool)
            membership.listen(pool, functools.partial(_hop, loop, report))
            self._spawn(self._reach(client))

    # -- queries ----------------------------------------------------------------------------------------------

    async def infer(self, endpoint: str, inputs: Arrays, rows: int, slo_s: float | None) -> Answer:
        """Answer a query, or raise the `AccordError` that says why there is no answer.

        ``inputs`` maps tensor name to an array of ``rows`` items, already validated. ``slo_s`` of None takes the
        endpoint's objective. Cancelling the call withdraws the query.
        """
        plan = self._dispatcher.plan.endpoints.get(endpoint)
        if plan is None:
            raise unknown_endpoint(endpoint, self._dispatcher.plan.endpoints)
        now_s = self._clock()
        deadline_s = now_s + (plan.slo_s if slo_s is None else slo_s)
        query = Query(next(self._ids), endpoint, now_s, deadline_s, rows, inputs)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[query.id] = future
        self.stats[endpoint].arrived += 1
        self._carry_out(self._dispatcher.on_arrival(query, now_s))
        try:
            return await future
        except asyncio.CancelledError:
            if self._open.pop(query.id, None) is not None:
                self._dispatcher.on_cancel(query)
            raise

    # -- commands ---------------------------------------------------------------------------------------------

    def _carry_out(self, commands: Iterable[Command]) -> None:
        for command in commands:
            if isinstance(command, Served):
                stats = self.stats[command.batch.endpoint]
                promised_s = self._objective_s(command.batch.endpoint)
                ended = late = 0
                for answer in command.answers():
                    stats.on_answer(answer)
                    ended += 1
                    late += answer.latency_s > max(promised_s, answer.query.allowed_s)
                    future = self._open.pop(answer.query.id, None)
                    if future is not None and not future.done():
                        future.set_result(answer)
                guarantee = self.guarantees[command.batch.endpoint]
                guarantee.on_served(ended - late, late, command.batch.accuracy)
            elif isinstance(command, Launch):
                self._note_promise(command.batch)
                self._calls[command.batch.worker] = self._spawn(self._run(command.batch))
            elif isinstance(command, Reject):
                self.stats[command.query.endpoint].on_reject(command)
                if command.query.allowed_s >= self._objective_s(command.query.endpoint) - ROUNDING_S:
                    self.guarantees[command.query.endpoint].on_refused()
                future = self._open.pop(command.query.id, None)
                if future is not None and not future.done():
                    future.set_exception(command.error)
            elif isinstance(command, WakeAt):
                if self._timer is not None:
                    self._timer.cancel()
                delay_s = min(max(0.0, command.at_s - self._clock()), LONGEST_TIMER_S)
                self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_timer)

    def _objective_s(self, endpoint: str) -> float:
        """What guarantees are about, whatever deadline clients ask for; nothing counts once an endpoint is gone."""
        plan = self.plan.endpoints.get(endpoint)
        return plan.slo_s if plan is not None else math.inf

    def _note_promise(self, batch: Batch) -> None:
        """What the table that decided on this batch promises."""
        endpoint = self.plan.endpoints[batch.endpoint]
        if isinstance(endpoint.selection, RamsisSelection):
            worker = self._dispatcher.workers[batch.worker]
            grid = endpoint.selection.grids.get(worker.device)
            if grid is not None:
                workers = len(worker.lanes[batch.endpoint].endpoint.lanes)
                table = grid.for_workers(workers, endpoint.load.load_qps(batch.launched_s))
                self.guarantees[batch.endpoint].on_launch(len(batch.jobs), table)

    def _on_timer(self) -> None:
        self._timer = None
        self._carry_out(self._dispatcher.on_timer(self._clock()))

    async def _run(self, batch: Batch) -> None:
        try:
            pool = self._pool_of.get(batch.worker)
            if pool is None:
                raise WorkerGone("Serve reported its loss")
            call = self._clients[pool].run(batch.worker, batch.variant, _stack(batch))
            result = await asyncio.wait_for(call, BATCH_TIMEOUT_S)
            now_s = self._clock()
            if result.error is None:
                outputs = _unstack(batch, result.outputs)
                commands = self._dispatcher.on_done(batch.worker, batch.id, outputs, result.run_s, now_s)
            else:
                commands = self._dispatcher.on_failed(batch.worker, batch.id, result.error, now_s)
        except (WorkerGone, TimeoutError) as error:
            logger.warning("Worker %s did not answer a batch: %s", batch.worker, error)
            self._lose([batch.worker])
            self._spawn(self._join(batch.worker, DESCRIBE_RETRY_S))
            return
        except Exception as error:  # a fault of ours, such as inputs that do not stack: nobody may wait for ever
            logger.exception("A batch could not be run.")
            commands = self._dispatcher.on_failed(batch.worker, batch.id, str(error), self._clock())
        self._carry_out(commands)

    # -- workers ----------------------------------------------------------------------------------------------

    async def _reach(self, client: WorkerClient) -> None:
        """Make Serve report the pool's replicas: it begins with the first call."""
        while True:
            try:
                await client.reach_any()
                return
            except WorkerGone:
                await asyncio.sleep(DESCRIBE_RETRY_S)

    def _on_members(self, pool: str, live: frozenset[str]) -> None:
        gone = [worker for worker, of in self._pool_of.items() if of == pool and worker not in live]
        for worker in gone:
            del self._pool_of[worker]
            self._clients[pool].forget(worker)
        self._lose(gone)
        for worker in sorted(live - self._pool_of.keys()):
            self._pool_of[worker] = pool
            self._spawn(self._join(worker))

    async def _join(self, worker: str, after_s: float = 0.0) -> None:
        """Let a worker in once it has said what it holds; keep asking while Serve calls it alive."""
        await asyncio.sleep(after_s)
        while (pool := self._pool_of.get(worker)) is not None:
            try:
                report = await asyncio.wait_for(self._clients[pool].describe(worker), BATCH_TIMEOUT_S)
            except (WorkerGone, TimeoutError):
                await asyncio.sleep(DESCRIBE_RETRY_S)
                continue
            if worker not in self._pool_of or worker in self._dispatcher.workers:
                return
            self._reports[worker] = report
            for variant, reason in report.failed.items():
                logger.error("Worker %s cannot load variant %s: %s", worker, variant, reason)
            now_s = self._clock()
            ready = self._dispatcher.on_worker_ready(worker, report.device, report.loaded, now_s, report.pool)
            self._carry_out(ready)
            return

    def _lose(self, workers: Collection[str]) -> None:
        """Take workers out, and give up on the calls that they may never answer."""
        for worker in workers:
            self._reports.pop(worker, None)
            call = self._calls.pop(worker, None)
            if call is not None and call is not asyncio.current_task():
                call.cancel()
        self._carry_out(self._dispatcher.on_workers_lost(workers, self._clock()))

    # -- state ------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._dispatcher.plan

    def apply(self, plan: Plan) -> None:
        """Put a newer plan in force, with the same endpoints."""
        self._carry_out(self._dispatcher.apply(plan, self._clock()))

    def workers_of(self, endpoint: str) -> int:
        """How many live workers serve the endpoint."""
        return sum(endpoint in state.lanes for state in self._dispatcher.workers.values())

    def anticipated_qps(self, endpoint: str) -> float:
        """The load that the endpoint has to reckon with."""
        return self.plan.endpoints[endpoint].load.load_qps(self._clock())

    def ready(self, endpoint: str) -> bool:
        """Whether some live worker holds a variant for the endpoint."""
        return self.workers_of(endpoint) > 0

    def status(self) -> dict[str, Any]:
        """Endpoints and workers as they are now, for ``GET /accord/status``."""
        now_s = self._clock()
        endpoints = {}
        for name, endpoint in self._dispatcher.plan.endpoints.items():
            accuracies = {c.variant: c.accuracy for offered in endpoint.candidates.values() for c in offered}
            snapshot = self.stats[name].snapshot(now_s)
            for variant, entry in snapshot["variants"].items():
                entry["expected_accuracy"] = accuracies.get(variant)
            endpoints[name] = {
                "slo_ms": endpoint.slo_s * 1e3,
                "selection": endpoint.selection.name,
                "ready": self.ready(name),
                "anticipated_qps": self.anticipated_qps(name),
                "guarantee": asdict(self.guarantees[name].guarantee()),
                "queued": self._dispatcher.queued_rows(name),
                **snapshot,
            }
        workers = {}
        for worker, state in self._dispatcher.workers.items():
            report = self._reports[worker]
            workers[worker] = {
                "pool": report.pool,
                "device": report.device,
                "state": "busy" if state.batch else "idle",
                "queued": state.load.queued_rows,
                "loaded": list(report.loaded),
                "failed": report.failed,
                "memory_bytes": report.memory_bytes,
            }
        return {"plan_version": self._dispatcher.plan.version, "endpoints": endpoints, "workers": workers}

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _hop(loop: asyncio.AbstractEventLoop, report: membership.Listener, live: frozenset[str]) -> None:
    loop.call_soon_threadsafe(report, live)


def _stack(batch: Batch) -> Arrays:
    """The inputs of all jobs in one array per tensor."""
    first, *others = (job.query.inputs for job in batch.jobs)
    if not others:
        return dict(first)
    return {name: np.concatenate([values, *(other[name] for other in others)]) for name, values in first.items()}


def _unstack(batch: Batch, outputs: Arrays) -> list[Arrays]:
    """Each job's own rows of what came back for the batch."""
    own = []
    row = 0
    for job in batch.jobs:
        end = row + job.query.rows
        own.append({name: values[row:end] for name, values in outputs.items()})
        row = end
    return own

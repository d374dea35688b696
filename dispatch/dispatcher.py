"""The dispatcher: who waits where, and what runs next. Events in, commands out."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any

from catalog.errors import AccordError
from dispatch import refusals
from dispatch.batch_maker import BatchMaker
from dispatch.commands import Command, Launch, Reject, Served
from dispatch.latency.estimator import LatencyEstimator
from dispatch.learning import Learning
from dispatch.plan import Plan
from dispatch.promise.feedback import SlackFeedback
from dispatch.query import Batch, Job, Query, quick
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.queues.lane import Lane
from dispatch.queues.variant_health import VariantHealth
from dispatch.queues.wake_ups import WakeUps
from dispatch.queues.worker_state import WorkerState

NOTHING: frozenset[Any] = frozenset()
NOBODY: Mapping[str, Iterable[str]] = MappingProxyType({})

MAX_ATTEMPTS = 3
"""Launches of one job that may come to nothing before its query is refused."""


class Dispatcher:
    """Keeps one earliest-deadline-first queue per worker and endpoint, or one per endpoint, and fills idle workers.

    A plain object without I/O, for whatever host keeps the time and carries commands out. Every method takes ``now_s``
    of one monotonic clock and returns commands. Not thread-safe; call it from one thread, one event at a time.
    With ``latency``, policies see what batches take on each worker instead of the plan's figures, and spend less of the
    slack while more deadlines are missed than promised (`SlackFeedback`); without, the plan's figures are exact.
    Every query that `on_arrival` takes is in exactly one Served or Reject, unless `on_cancel` withdraws it.
    """

    def __init__(self, plan: Plan, latency: LatencyEstimator | None = None) -> None:
        self.plan = plan
        self.learning = None if latency is None else Learning(latency)
        self.workers: dict[str, WorkerState] = {}
        self._endpoints: dict[str, EndpointQueues] = {}
        self._withdrawn: set[int] = set()
        self._health = VariantHealth()
        self._batches = BatchMaker(self._health)
        self._wake_ups = WakeUps(self.workers, self._endpoints)
        self._refresh()

    def queued_rows(self, endpoint: str) -> int:
        """Rows that wait for an endpoint on all workers."""
        queues = self._endpoints.get(endpoint)
        return 0 if queues is None else queues.rows

    def serves(self, endpoint: str) -> bool:
        """Whether some worker serves the endpoint."""
        queues = self._endpoints.get(endpoint)
        return queues is not None and bool(queues.lanes)

    def unserved(self, endpoint: str) -> list[Query]:
        """The queries that wait for an endpoint that no worker serves."""
        queues = self._endpoints.get(endpoint)
        return [] if queues is None or queues.lanes else [job.query for job in queues.common.queue]

    # -- events of queries ------------------------------------------------------------------------------------

    def on_arrival(self, query: Query, now_s: float) -> list[Command]:
        """A new query; its id must be new and larger than those before."""
        endpoint = self._endpoints.get(query.endpoint)
        if endpoint is None:
            return [Reject(query, refusals.unknown_endpoint(query.endpoint, self.plan.endpoints))]
        plan = endpoint.plan
        for _ in range(query.rows):
            plan.load.on_arrival(now_s)
        if endpoint.rows + query.rows > plan.max_queued_rows:
            return [Reject(query, refusals.saturated(plan, endpoint.rows))]
        return self._enqueue(quick(Job, (query, 0, NOTHING)), endpoint, now_s)

    def on_cancel(self, query: Query) -> None:
        """The client is gone: the query leaves its queue, or its result is thrown away when it comes."""
        endpoint = self._endpoints.get(query.endpoint)
        lane = endpoint.place.get(query.id) if endpoint is not None else None
        if lane is not None:
            lane.cancel(query)
        elif any(job.query.id == query.id for w in self.workers.values() if w.batch for job in w.batch.jobs):
            self._withdrawn.add(query.id)

    def on_timer(self, now_s: float) -> list[Command]:
        """A WakeAt is due: late queries that are dropped or have no worker are refused, and who held is asked."""
        commands: list[Command] = []
        for lane in self._wake_ups.on_wake(now_s):
            commands += self._refuse_late(lane, now_s)
        due = [worker for worker in self.workers.values() if worker.hold_s <= now_s]
        for worker in sorted(due, key=_by_id):
            self._launch(worker, now_s, commands)
        return commands + self._wake_ups.for_all()

    # -- events of workers ------------------------------------------------------------------------------------

    def on_worker_ready(
        self, worker: str, device: str, variants: Iterable[str], now_s: float, pool: str = ""
    ) -> list[Command]:
        """A worker is there, or holds other variants than before."""
        state = self.workers.get(worker)
        if state is None:
            state = self.workers[worker] = WorkerState(worker, device, pool)
        state.variants = frozenset(variants)
        return self._after_change(now_s)

    def reassign(self, held: Mapping[str, Iterable[str]], now_s: float) -> list[Command]:
        """Workers hold other variants from now on, all at once; unknown workers are ignored.

        What waits for a worker that serves its endpoint no more is placed anew by the balancer; a batch that runs
        goes on with the variant that it was launched on.
        """
        self._hold(held)
        return self._after_change(now_s)

    def on_workers_lost(self, workers: Collection[str], now_s: float) -> list[Command]:
        """Workers are gone: what waited for them and what they ran goes to others. Unknown workers are ignored."""
        lost = [self.workers.pop(worker) for worker in workers if worker in self.workers]
        self._refresh()
        commands: list[Command] = []
        for state in lost:
            self._health.on_worker_lost(state.id)
            if self.learning is not None:
                self.learning.latency.forget(state.id)
            if state.batch is not None:
                commands += self._retry(state.batch, refusals.worker_lost(state.id), now_s, blame=False)
        return commands + self._after_change(now_s)

    def on_done(
        self, worker: str, batch_id: int, outputs: Sequence[Mapping[str, Any]], run_s: float, now_s: float
    ) -> list[Command]:
        """A batch came back, with the outputs of each of its jobs; one that nobody waits for any more is ignored."""
        state = self.workers.get(worker)
        if state is None or (batch := state.batch) is None or batch.id != batch_id:
            return []
        state.finish()
        self._health.on_success(worker, batch.variant)
        lane = state.lanes.get(batch.endpoint)
        if lane is not None and lane.state is not None:
            lane.on_done(batch, now_s)
        if lane is not None and self.learning is not None:
            self.learning.on_done(state, lane, batch, run_s, now_s)
        withdrawn = NOTHING
        if self._withdrawn:
            withdrawn = frozenset(job.query.id for job in batch.jobs) & self._withdrawn
            self._withdrawn -= withdrawn
        commands: list[Command] = [quick(Served, (batch, outputs, run_s, now_s, withdrawn))]
        self._launch(state, now_s, commands)
        return commands

    def on_failed(self, worker: str, batch_id: int, reason: str, now_s: float) -> list[Command]:
        """A batch raised on its variant: its jobs go on, each alone and without that variant."""
        state = self.workers.get(worker)
        if state is None or (batch := state.batch) is None or batch.id != batch_id:
            return []
        state.finish()
        self._health.on_failure(worker, batch.variant, now_s)
        error = refusals.variant_failed(batch, reason)
        commands = self._retry(batch, error, now_s, blame=True)
        self._launch(state, now_s, commands)
        return commands

    # -- events of the control path ---------------------------------------------------------------------------

    def apply(self, plan: Plan, now_s: float, held: Mapping[str, Iterable[str]] = NOBODY) -> list[Command]:
        """Switch to a newer plan between two batches; queries of endpoints that it drops are refused.

        With ``held``, workers hold other variants from the same instant on, as in `reassign`: nothing is placed by the
        new plan where the old one had it, or the other way round. Raises ValueError, changing nothing, for a plan that
        is not newer.
        """
        if plan.version <= self.plan.version:
            raise ValueError(f"plan version {plan.version} is not newer than {self.plan.version}, which is in force")
        self.plan = plan
        self._hold(held)
        commands: list[Command] = []
        for name in [name for name in self._endpoints if name not in plan.endpoints]:
            endpoint = self._endpoints.pop(name)
            for lane in endpoint.ways():
                commands += [Reject(job.query, refusals.removed_endpoint(job.query)) for job in lane.drain()]
            for worker in self.workers.values():
                worker.set_lane(name, None)
        return commands + self._after_change(now_s)

    def on_measured(self, worker: str, variant: str, rows: int, run_s: float, total_s: float, now_s: float) -> None:
        """A batch of no query came back, which was run to measure what batches take."""
        state = self.workers.get(worker)
        if state is not None and self.learning is not None:
            self.learning.on_measured(state, variant, rows, run_s, total_s, now_s)

    def feedback(self, endpoint: str) -> SlackFeedback | None:
        """How much of the slack an endpoint's policy may spend; None for one that is not served."""
        queues = self._endpoints.get(endpoint)
        return None if queues is None else queues.feedback

    # -- inner steps ------------------------------------------------------------------------------------------

    def _in_order(self) -> list[WorkerState]:
        return sorted(self.workers.values(), key=_by_id)

    def _hold(self, held: Mapping[str, Iterable[str]]) -> None:
        for worker, variants in held.items():
            if worker in self.workers:
                self.workers[worker].variants = frozenset(variants)

    def _refresh(self) -> None:
        """Derive from the plan and the workers who can serve what."""
        workers = self._in_order()
        for name, plan in self.plan.endpoints.items():
            if name not in self._endpoints:
                self._endpoints[name] = EndpointQueues(plan)
            self._endpoints[name].refresh(plan, workers)
        if self.learning is not None:
            self.learning.on_lanes(workers)

    def _after_change(self, now_s: float) -> list[Command]:
        """Workers or plan changed: place anew what has no worker or the wrong one, then fill idle workers."""
        self._refresh()
        commands: list[Command] = []
        for endpoint in self._endpoints.values():
            if endpoint.lanes and endpoint.plan.balancer is not None:
                for job in endpoint.common.drain():
                    commands += self._enqueue(job, endpoint, now_s)
        self._wake_ups.on_change()
        for worker in self._in_order():
            self._launch(worker, now_s, commands)
        return commands + self._wake_ups.for_all()

    def _enqueue(self, job: Job, endpoint: EndpointQueues, now_s: float) -> list[Command]:
        worker = endpoint.join(job, now_s)
        commands: list[Command] = []
        if worker is None:
            for idle in [worker for worker in endpoint.workers if worker.batch is None]:
                if not endpoint.rows:
                    break
                self._launch(idle, now_s, commands)
        elif worker.batch is None:
            self._launch(worker, now_s, commands)
        if endpoint.deadlines_matter and job.query.id in endpoint.place:
            commands += self._wake_ups.on_deadline(job.query.deadline_s)
        return commands

    def _launch(self, worker: WorkerState, now_s: float, commands: list[Command]) -> None:
        """Give a worker that is idle its next batch: of the most urgent endpoint whose policy does not hold.

        Adds to ``commands``.
        """
        if worker.batch is not None:
            return
        worker.hold_s = inf
        for lane in worker.waiting_lanes():
            if lane.endpoint.deadlines_matter:
                commands += self._refuse_late(lane, now_s)
                if not lane.queue.rows:
                    continue
            batch = self._batches.next(worker, lane, now_s, commands)
            if batch is not None:
                worker.start(batch)
                commands.append(quick(Launch, (batch,)))
                return
        if worker.hold_s < inf:
            commands += self._wake_ups.at(worker.hold_s)

    def _retry(self, batch: Batch, error: AccordError, now_s: float, *, blame: bool) -> list[Command]:
        """Queue the jobs of a batch that came to nothing again, or refuse those that were tried enough."""
        commands: list[Command] = []
        endpoint = self._endpoints.get(batch.endpoint)
        for job in batch.jobs:
            if job.query.id in self._withdrawn:
                self._withdrawn.discard(job.query.id)
            elif endpoint is None or job.attempt + 1 >= MAX_ATTEMPTS:
                commands.append(Reject(job.query, error))
            else:
                excluded = job.excluded | {batch.variant} if blame else job.excluded
                commands += self._enqueue(Job(job.query, job.attempt + 1, excluded), endpoint, now_s)
        return commands

    def _refuse_late(self, lane: Lane, now_s: float) -> list[Command]:
        """Take those out whose deadline has come, where it matters: the endpoint drops them, or no worker is there."""
        plan = lane.endpoint.plan
        if not lane.endpoint.lanes:
            return [Reject(job.query, refusals.no_worker(plan)) for job in lane.expired(now_s)]
        if plan.drop_late:
            return [Reject(job.query, refusals.deadline_missed(job.query, now_s)) for job in lane.expired(now_s)]
        return []


def _by_id(worker: WorkerState) -> str:
    return worker.id

"""The dispatcher: who waits where, and what runs next. Events in, commands out."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from catalog.errors import AccordError
from dispatch import refusals
from dispatch.commands import Answer, Command, Launch, Reject, WakeAt
from dispatch.deadline_queue import DeadlineQueue
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import Batch, Job, Query
from dispatch.selection.policy import QueueView
from dispatch.variant_health import VariantHealth
from dispatch.worker_state import WorkerState

MAX_ATTEMPTS = 3
"""Launches of one job that may come to nothing before its query is refused."""


class Dispatcher:
    """Keeps one earliest-deadline-first queue per worker and endpoint and fills idle workers.

    A plain object without I/O, for whatever host keeps the time and carries commands out. Every method takes ``now_s``
    of one monotonic clock and returns commands. Not thread-safe; call it from one thread, one event at a time.
    Every query that `on_arrival` takes gets exactly one Answer or Reject, unless `on_cancel` withdraws it.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.workers: dict[str, WorkerState] = {}
        self._eligible: dict[str, list[WorkerState]] = {}
        self._unassigned: dict[str, DeadlineQueue] = {}
        self._queued_rows: dict[str, int] = {}
        self._waiting: dict[int, tuple[Job, DeadlineQueue, WorkerState | None]] = {}
        self._withdrawn: set[int] = set()
        self._health = VariantHealth()
        self._next_batch_id = 0
        self._wake_s: float | None = None
        self._refresh()

    def queued_rows(self, endpoint: str) -> int:
        """Rows that wait for an endpoint on all workers."""
        return self._queued_rows.get(endpoint, 0)

    # -- events of queries ------------------------------------------------------------------------------------

    def on_arrival(self, query: Query, now_s: float) -> list[Command]:
        """A new query; its id must be new and larger than those before."""
        endpoint = self.plan.endpoints.get(query.endpoint)
        if endpoint is None:
            return [Reject(query, refusals.unknown_endpoint(query.endpoint, self.plan.endpoints))]
        queued = self._queued_rows[endpoint.name]
        if queued + query.rows > endpoint.max_queued_rows:
            return [Reject(query, refusals.saturated(endpoint, queued))]
        return self._enqueue(Job(query), endpoint, now_s)

    def on_cancel(self, query: Query) -> None:
        """The client is gone: the query leaves its queue, or its result is thrown away when it comes."""
        waiting = self._waiting.pop(query.id, None)
        if waiting is not None:
            job, queue, worker = waiting
            queue.cancel(job)
            self._forget_rows(job, worker)
        elif any(job.query.id == query.id for w in self.workers.values() if w.batch for job in w.batch.jobs):
            self._withdrawn.add(query.id)

    def on_timer(self, now_s: float) -> list[Command]:
        """A WakeAt is due: late queries of endpoints that drop them are answered now, and those with no worker."""
        self._wake_s = None
        commands: list[Command] = []
        for name, endpoint in self.plan.endpoints.items():
            for job in self._unassigned[name].pop_expired(now_s):
                self._leave(job, None)
                commands.append(Reject(job.query, refusals.no_worker(endpoint)))
            if endpoint.drop_late:
                for worker in self._eligible[name]:
                    commands += self._drop_late(endpoint, worker, now_s)
        return commands + self._wake()

    # -- events of workers ------------------------------------------------------------------------------------

    def on_worker_ready(self, worker: str, device: str, variants: Iterable[str], now_s: float) -> list[Command]:
        """A worker is there, or holds other variants than before."""
        state = self.workers.get(worker)
        if state is None:
            state = self.workers[worker] = WorkerState(worker, device)
        state.variants = frozenset(variants)
        return self._after_change(now_s)

    def on_workers_lost(self, workers: Collection[str], now_s: float) -> list[Command]:
        """Workers are gone: what waited for them and what they ran goes to others. Unknown workers are ignored."""
        lost = [self.workers.pop(worker) for worker in workers if worker in self.workers]
        self._refresh()
        commands: list[Command] = []
        for state in lost:
            self._health.on_worker_lost(state.id)
            if state.batch is not None:
                commands += self._retry(state.batch, refusals.worker_lost(state.id), now_s, blame=False)
            for queue in state.queues.values():
                self._unassign(queue, state)
        return commands + self._after_change(now_s)

    def on_done(
        self, worker: str, batch_id: int, outputs: Mapping[str, Any], run_s: float, now_s: float
    ) -> list[Command]:
        """A batch came back. ``outputs`` are stacked; a result that nobody waits for any more is ignored.

        Where ``outputs`` cannot be sliced, that error passes and the batch still runs: report `on_failed`.
        """
        state, batch = self._running(worker, batch_id)
        if state is None or batch is None:
            return []
        accuracy = state.accuracies.get((batch.endpoint, batch.variant), 0.0)
        answers: list[Command] = []
        row = 0
        for job in batch.jobs:
            query = job.query
            own = {name: values[row : row + query.rows] for name, values in outputs.items()}
            row += query.rows
            answers.append(Answer(query, batch.variant, accuracy, own, batch.rows, batch.launched_s, now_s, run_s))
        state.finish()
        self._health.on_success(worker, batch.variant)
        if self._withdrawn:
            withdrawn = {job.query.id for job in batch.jobs} & self._withdrawn
            answers = [c for c in answers if isinstance(c, Answer) and c.query.id not in withdrawn]
            self._withdrawn -= withdrawn
        return answers + self._launch(state, now_s)

    def on_failed(self, worker: str, batch_id: int, reason: str, now_s: float) -> list[Command]:
        """A batch raised on its variant: its jobs go on, each alone and without that variant."""
        state, batch = self._running(worker, batch_id)
        if state is None or batch is None:
            return []
        state.finish()
        self._health.on_failure(worker, batch.variant, now_s)
        error = refusals.variant_failed(batch, reason)
        return self._retry(batch, error, now_s, blame=True) + self._launch(state, now_s)

    # -- events of the control path ---------------------------------------------------------------------------

    def apply(self, plan: Plan, now_s: float) -> list[Command]:
        """Switch to a newer plan between two batches; queries of endpoints that it drops are refused.

        Raises ValueError, changing nothing, for a plan that is not newer.
        """
        if plan.version <= self.plan.version:
            raise ValueError(f"plan version {plan.version} is not newer than {self.plan.version}, which is in force")
        self.plan = plan
        commands: list[Command] = []
        for job, queue, worker in list(self._waiting.values()):
            if job.query.endpoint not in plan.endpoints:
                queue.cancel(job)
                self._leave(job, worker)
                commands.append(Reject(job.query, refusals.removed_endpoint(job.query)))
        return commands + self._after_change(now_s)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Derive from the plan and the workers who can serve what."""
        for name, endpoint in self.plan.endpoints.items():
            self._queued_rows.setdefault(name, 0)
            self._unassigned.setdefault(name, DeadlineQueue())
            self._eligible[name] = [
                self.workers[worker] for worker in sorted(self.workers) if self.workers[worker].offer(endpoint)
            ]

    def _after_change(self, now_s: float) -> list[Command]:
        """Workers or plan changed: place anew what has no worker or the wrong one, then fill idle workers."""
        self._refresh()
        for name in self.plan.endpoints:
            for state in self.workers.values():
                if state not in self._eligible[name] and state.queues.get(name):
                    self._unassign(state.queues[name], state)
        commands: list[Command] = []
        for name, endpoint in self.plan.endpoints.items():
            if self._eligible[name]:
                waiting = self._unassigned[name]
                while waiting:
                    job = waiting.pop()
                    self._leave(job, None)
                    commands += self._enqueue(job, endpoint, now_s)
        for state in self.workers.values():
            commands += self._launch(state, now_s)
        return commands + self._wake()

    def _enqueue(self, job: Job, endpoint: EndpointPlan, now_s: float) -> list[Command]:
        eligible = self._eligible[endpoint.name]
        worker: WorkerState | None = None
        if eligible:
            loads = [state.load for state in eligible]
            worker = eligible[endpoint.balancer.pick(loads) if len(eligible) > 1 else 0]
            queue = worker.queue(endpoint.name)
            worker.load.queued_rows += job.query.rows
        else:
            queue = self._unassigned[endpoint.name]
        queue.push(job)
        self._queued_rows[endpoint.name] += job.query.rows
        self._waiting[job.query.id] = (job, queue, worker)
        commands = self._launch(worker, now_s) if worker is not None and worker.batch is None else []
        if (worker is None or endpoint.drop_late) and job.query.id in self._waiting:
            commands += self._wake(job.query.deadline_s)
        return commands

    def _launch(self, worker: WorkerState, now_s: float) -> list[Command]:
        """Give an idle worker its next batch, of the endpoint whose head is due first."""
        commands: list[Command] = []
        while worker.batch is None and worker.load.queued_rows:
            name, first = worker.most_urgent()
            endpoint = self.plan.endpoints[name]
            if endpoint.drop_late and first.query.deadline_s <= now_s:
                commands += self._drop_late(endpoint, worker, now_s)
                continue
            offered = worker.candidates[name]
            candidates = self._health.usable(worker.id, offered, now_s)
            queue = worker.queues[name]
            rows = queue.rows
            if first.excluded:
                candidates = tuple(c for c in offered if c.variant not in first.excluded) or candidates
                rows = first.query.rows
            choice = endpoint.selection.choose(QueueView(now_s, rows, first.query.deadline_s, candidates))
            jobs = queue.pop_batch(choice.rows)
            batch_rows = 0
            for job in jobs:
                self._leave(job, worker)
                batch_rows += job.query.rows
            self._next_batch_id += 1
            batch = Batch(self._next_batch_id, worker.id, name, choice.variant, jobs, batch_rows, now_s)
            worker.start(batch)
            commands.append(Launch(batch))
        return commands

    def _running(self, worker: str, batch_id: int) -> tuple[WorkerState | None, Batch | None]:
        state = self.workers.get(worker)
        if state is None or state.batch is None or state.batch.id != batch_id:
            return None, None
        return state, state.batch

    def _retry(self, batch: Batch, error: AccordError, now_s: float, *, blame: bool) -> list[Command]:
        """Queue the jobs of a batch that came to nothing again, or refuse those that were tried enough."""
        commands: list[Command] = []
        endpoint = self.plan.endpoints.get(batch.endpoint)
        for job in batch.jobs:
            if job.query.id in self._withdrawn:
                self._withdrawn.discard(job.query.id)
            elif endpoint is None or job.attempt + 1 >= MAX_ATTEMPTS:
                commands.append(Reject(job.query, error))
            else:
                excluded = job.excluded | {batch.variant} if blame else job.excluded
                commands += self._enqueue(replace(job, attempt=job.attempt + 1, excluded=excluded), endpoint, now_s)
        return commands

    def _drop_late(self, endpoint: EndpointPlan, worker: WorkerState, now_s: float) -> list[Command]:
        commands: list[Command] = []
        queue = worker.queues.get(endpoint.name)
        for job in queue.pop_expired(now_s) if queue is not None else ():
            self._leave(job, worker)
            commands.append(Reject(job.query, refusals.deadline_missed(job.query, now_s)))
        return commands

    def _unassign(self, queue: DeadlineQueue, state: WorkerState) -> None:
        """Move what waits in one worker's queue to where jobs without a worker wait."""
        while queue:
            job = queue.pop()
            self._leave(job, state)
            target = self._unassigned[job.query.endpoint]
            target.push(job)
            self._queued_rows[job.query.endpoint] += job.query.rows
            self._waiting[job.query.id] = (job, target, None)

    def _leave(self, job: Job, worker: WorkerState | None) -> None:
        del self._waiting[job.query.id]
        self._forget_rows(job, worker)

    def _forget_rows(self, job: Job, worker: WorkerState | None) -> None:
        self._queued_rows[job.query.endpoint] -= job.query.rows
        if worker is not None:
            worker.load.queued_rows -= job.query.rows

    def _wake(self, at_s: float | None = None) -> list[Command]:
        """A WakeAt for ``at_s``, or for the earliest deadline that matters; none where one that early is under way."""
        if at_s is None:
            at_s = min(self._deadlines(), default=None)
        if at_s is None or (self._wake_s is not None and self._wake_s <= at_s):
            return []
        self._wake_s = at_s
        return [WakeAt(at_s)]

    def _deadlines(self) -> Iterable[float]:
        for name, endpoint in self.plan.endpoints.items():
            queues = [self._unassigned[name]]
            if endpoint.drop_late:
                queues += [state.queues[name] for state in self._eligible[name] if name in state.queues]
            for queue in queues:
                first = queue.first()
                if first is not None:
                    yield first.query.deadline_s

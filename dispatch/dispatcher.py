"""The dispatcher: who waits where, and what runs next. Events in, commands out."""

from collections.abc import Collection, Iterable, Mapping
from math import inf
from operator import attrgetter

from catalog.errors import AccordError
from dispatch import refusals
from dispatch.batch_maker import BatchMaker, OnFault
from dispatch.commands import Answer, BatchDone, Command, Launch, Outputs, Reject
from dispatch.flow.flow import Step
from dispatch.latency.estimator import LatencyEstimator
from dispatch.learning import Learning
from dispatch.plan import Plan
from dispatch.query import Batch, Job, Query, quick
from dispatch.queues.all_queues import AllQueues
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.queues.lane import Lane
from dispatch.queues.stage_queues import StageQueues
from dispatch.queues.timed_flows import TimedFlows
from dispatch.queues.wake_ups import WakeUps
from dispatch.queues.worker_state import WorkerState
from dispatch.recovery.batch_watch import BatchWatch
from dispatch.recovery.retries import Loss, Retries
from dispatch.shadow.shadows import Shadows
from dispatch.worker_info import WorkerInfo

_by_id = attrgetter("id")


class Dispatcher:
    """Keeps one earliest-deadline-first queue per worker and stage, or one per stage, and fills idle workers.

    Queues, retries and batches know jobs; what jobs a query makes, and what its answer is, its endpoint's flow knows.
    A plain object without I/O: its host keeps the time and carries commands out. Every method takes ``now_s`` of one
    monotonic clock and returns commands. Not thread-safe; call it from one thread, one event at a time.
    With ``latency``, policies see what batches take on each worker, spend less of the slack while more deadlines are
    missed than promised (`SlackFeedback`), and overdue batches are given up (`BatchWatch`); without, plans are exact.
    Every query that `on_arrival` takes ends in exactly one outcome, unless `on_cancel` withdraws it.
    """

    def __init__(self, plan: Plan, latency: LatencyEstimator | None = None, on_fault: OnFault | None = None) -> None:
        self.plan = plan
        self.learning = None if latency is None else Learning(latency)
        self.workers: dict[str, WorkerState] = {}
        self.queues = queues = AllQueues()
        self._endpoints, self._running, self._health = queues.by_name, queues.running, queues.health
        self._batches, self._timed = BatchMaker(self._health, on_fault), TimedFlows(self._endpoints)
        self._watch = BatchWatch(self.workers, measured=latency is not None)
        self._retries, self.shadows = Retries(), Shadows(self._endpoints)
        self._wake_ups = WakeUps(self.workers, self._endpoints, self._timed, self._watch, latency)
        self._refresh()

    def on_arrival(self, query: Query, now_s: float) -> list[Command]:
        """A new query; its id must be new and larger than those before."""
        if (endpoint := self._endpoints.get(query.endpoint)) is None:
            return [Reject(query, refusals.unknown_endpoint(query.endpoint, self.plan.endpoints))]
        commands: list[Command] = []
        try:
            if endpoint.admission is not None:
                for out, why in endpoint.admit(query, now_s):
                    self._fail(out, endpoint, why, now_s, commands)
            started = endpoint.flow.start(query, now_s)
        except AccordError as error:
            return [*commands, Reject(query, error)]
        if isinstance(started, Answer):
            return [*commands, started]
        job, others = started
        stage = endpoint.stages[job.stage]
        stage.on_row(now_s) if job.rows == 1 else stage.on_rows(job.rows, now_s)
        rows = job.rows + endpoint.on_rows(others, now_s) if others else job.rows
        if endpoint.rows + rows > endpoint.max_queued_rows:
            if not (room := endpoint.make_room(query, rows)):
                endpoint.flow.withdraw(query)
                return [*commands, Reject(query, refusals.no_room(endpoint.plan, endpoint.rows, rows))]
            for out, why in room:
                self._fail(out, endpoint, why, now_s, commands)
        self._enqueue(job, stage, now_s, commands)
        for other in others:
            self._enqueue(other, endpoint.stages[other.stage], now_s, commands)
        return commands + self._wake_ups.at(self._timed.due_s) if endpoint.timed else commands

    def on_cancel(self, query: Query) -> None:
        """The client is gone: the query leaves its queue, or its result is thrown away when it comes."""
        self.queues.withdraw_query(query, self.workers.values())

    def on_timer(self, now_s: float) -> list[Command]:
        """A WakeAt is due: late jobs that are dropped or have no worker end, and workers that held are asked."""
        commands: list[Command] = []
        for lane in self._wake_ups.on_wake(now_s):
            self._end_late(lane, now_s, commands)
        for endpoint, step in self._timed.on_time(now_s):
            self._follow(step, endpoint, now_s, commands)
        self._retries.budget.settle(now_s)
        if overdue := self._watch.on_time(now_s):
            commands += self._lose(overdue, Loss.OVERDUE, now_s)
        for worker in sorted((each for each in self.workers.values() if each.ask_s <= now_s), key=_by_id):
            worker.release(now_s)
            self._launch(worker, now_s, commands)
        return commands + self._wake_ups.for_all(now_s)

    def on_worker_ready(self, worker: str, info: WorkerInfo, variants: Iterable[str], now_s: float) -> list[Command]:
        """A worker is there, or holds other variants than before."""
        self.workers.setdefault(worker, WorkerState(worker, info)).variants = frozenset(variants)
        return self._after_change(now_s)

    def reassign(self, held: Mapping[str, Iterable[str]], now_s: float) -> list[Command]:
        """Workers hold other variants from now on, all at once; unknown workers are ignored.

        What waits for a worker that serves its endpoint no more is placed anew; a batch that runs goes on as launched.
        """
        self._hold(held)
        return self._after_change(now_s)

    def on_workers_lost(self, workers: Collection[str], now_s: float, *, died: bool = False) -> list[Command]:
        """Others get what waited for them and what they ran, with care where they ``died`` of it (`Retries`)."""
        return self._lose(workers, Loss.DIED if died else Loss.GONE, now_s)

    def on_done(
        self, worker: str, batch_id: int, outputs: Outputs, run_s: float, now_s: float, waited_s: float = 0.0
    ) -> list[Command]:
        """A batch came back, which ``waited_s`` there for the one before it; one that was given up is ignored."""
        if (state := self.workers.get(worker)) is None or (batch := state.take(batch_id)) is None:
            return []
        state.proven.add(batch.variant)
        self._health.on_success(worker, batch.variant)
        if batch_id < 0:
            self.shadows.on_done(batch, outputs)
            if self.learning is not None:
                self.learning.on_shadow(state, batch, run_s, now_s)
            return self._go_on(state, now_s, [])
        if (lane := state.lanes.get(batch.stage)) is not None:
            lane.on_done(batch, now_s)
            if self.learning is not None:
                self.learning.on_done(state, lane, batch, run_s, now_s, waited_s)
        endpoint = self._running.pop(batch_id)
        done = quick(BatchDone, (batch, outputs, run_s, now_s, endpoint.on_done(batch, now_s), waited_s))
        commands: list[Command] = [done]
        self.shadows.on_answered(done)
        self._follow(endpoint.flow.on_done(done), endpoint, now_s, commands)
        return self._go_on(state, now_s, commands)

    def on_failed(self, worker: str, batch_id: int, reason: str, now_s: float) -> list[Command]:
        """A batch raised on its variant: its jobs go on, each alone, on another worker or variant if possible."""
        if (state := self.workers.get(worker)) is None or (batch := state.take(batch_id)) is None:
            return []
        self._health.on_failure(worker, batch.variant, now_s)
        commands: list[Command] = []
        self._retry(batch, Loss.FAILED, now_s, commands, reason)
        for stage, job in self.queues.for_others(state, now_s):
            self._enqueue(job, stage, now_s, commands)
        return self._go_on(state, now_s, commands)

    def apply(self, plan: Plan, now_s: float, held: Mapping[str, Iterable[str]] | None = None) -> list[Command]:
        """Switch to a newer plan between two batches; queries of endpoints that it drops are refused.

        With ``held``, workers hold other variants from the same instant on, as in `reassign`: nothing is placed by the
        new plan where the old one had it, or the other way round. Raises ValueError, changing nothing, for a plan that
        is not newer, or gives an endpoint other stages.
        """
        if plan.version <= self.plan.version:
            raise ValueError(f"plan version {plan.version} is not newer than {self.plan.version}, which is in force")
        self.queues.check(plan)
        self.plan = plan
        self._hold(held or {})
        commands: list[Command] = []
        for endpoint, job in self.queues.remove_all_but(plan.endpoints, self.workers.values()):
            self._fail(job, endpoint, refusals.removed_endpoint(job.query), now_s, commands)
        return commands + self._after_change(now_s)

    def on_measured(self, worker: str, variant: str, rows: int, run_s: float, total_s: float, now_s: float) -> None:
        """A batch of no query came back, which was run to measure what batches take."""
        if (state := self.workers.get(worker)) is not None and self.learning is not None:
            state.proven.add(variant)
            self.learning.on_measured(state, variant, rows, run_s, total_s, now_s)

    # -- inner steps, which add to ``commands`` ---------------------------------------------------------------

    def _hold(self, held: Mapping[str, Iterable[str]]) -> None:
        for worker in held.keys() & self.workers.keys():
            self.workers[worker].variants = frozenset(held[worker])

    def _refresh(self) -> None:
        workers = sorted(self.workers.values(), key=_by_id)
        self.queues.refresh(self.plan, workers)
        self._timed.refresh()
        self.shadows.refresh()
        if self.learning is not None:
            self.learning.on_lanes(workers, self.plan.slowdowns)

    def _after_change(self, now_s: float) -> list[Command]:
        """Workers or plan changed: place anew what has no worker or the wrong one, then fill idle workers."""
        self._refresh()
        commands: list[Command] = []
        for served, step in self._timed.on_workers(now_s):
            self._follow(step, served, now_s, commands)
        for stage, job in self.queues.without_worker():
            self._enqueue(job, stage, now_s, commands)
        self._wake_ups.on_change()
        for worker in sorted(self.workers.values(), key=_by_id):
            self._launch(worker, now_s, commands)
        return commands + self._wake_ups.for_all(now_s)

    def _follow(self, step: Step, endpoint: EndpointQueues, now_s: float, commands: list[Command]) -> None:
        """Carry out what an endpoint's flow says."""
        commands += step.outcomes
        if endpoint.timed and step.outcomes and self.learning is not None:
            self.learning.on_outcomes(endpoint, step.outcomes, now_s)
        for job in step.withdraw:
            self.queues.withdraw(job, endpoint, self.workers.values())
        for job in step.enqueue:
            if endpoint.removed:
                self._fail(job, endpoint, refusals.removed_endpoint(job.query), now_s, commands)
                continue
            endpoint.on_rows((job,), now_s)
            self._enqueue(job, endpoint.stages[job.stage], now_s, commands)
        if step.enqueue:
            commands += self._wake_ups.at(self._timed.due_s)

    def _enqueue(self, job: Job, stage: StageQueues, now_s: float, commands: list[Command]) -> None:
        if stage.endpoint.timed and not self._timed.wants(job):
            return
        if (worker := stage.join(job, now_s)) is None:
            for idle in stage.idle(now_s):
                if not stage.common.queue.rows:
                    break
                self._launch(idle, now_s, commands)
        elif worker.batch is None:
            self._launch(worker, now_s, commands)
        if stage.deadlines_matter and job.id in stage.endpoint.lane_of:
            commands += self._wake_ups.on_deadline(stage.leaves_s(max(job.deadline_s, now_s)))

    def _launch(self, worker: WorkerState, now_s: float, commands: list[Command]) -> None:
        """Give a worker that is idle its next batch: of the most urgent stage whose policy does not hold."""
        if worker.batch is not None:
            return
        worker.hold_s = inf
        for lane in worker.waiting_lanes(now_s):
            if lane.stage.deadlines_matter:
                self._end_late(lane, now_s, commands)
            while worker.batch is None and lane.queue.rows:
                if (made := self._batches.next(worker, lane, now_s)) is None:
                    break
                if isinstance(made, Batch):
                    worker.start(made, lane.release_s(made))
                    self._running[made.id] = self._endpoints[made.stage.endpoint]
                    self._retries.budget.launched += len(made.jobs)
                    commands.append(quick(Launch, (made,)))
                    commands += (*self._wake_ups.on_launch(now_s), *self._wake_ups.at(worker.ask_s))
                    return
                for job in made:
                    error = refusals.deadline_out_of_reach(job.query, now_s)
                    self._fail(job, self._endpoints[job.query.endpoint], error, now_s, commands)
            if worker.batch is not None:  # it got one of the jobs that flows made of those that ended
                return
        commands += self._wake_ups.at(worker.hold_s)

    def _go_on(self, worker: WorkerState, now_s: float, commands: list[Command]) -> list[Command]:
        """A worker is idle: it gets its next batch; what stays idle may run what no client waits for."""
        worker.release(now_s)
        self._launch(worker, now_s, commands)
        commands += self._wake_ups.on_result(worker)
        for batch in self.shadows.begin(self.workers.values(), now_s) if self.shadows.by_endpoint else ():
            commands += [Launch(batch), *self._wake_ups.on_launch(now_s)]
        return commands

    def _lose(self, workers: Collection[str], loss: Loss, now_s: float) -> list[Command]:
        lost = [self.workers.pop(worker) for worker in workers if worker in self.workers]
        self._refresh()
        commands: list[Command] = []
        for state in lost:
            self._health.on_worker_lost(state.id)
            if self.learning is not None:
                self.learning.latency.forget(state.id)
            if loss is Loss.OVERDUE:
                commands.append(state.given_up(now_s))
            for batch in state.under_way:
                self._retry(batch, loss, now_s, commands)
        return commands + self._after_change(now_s)

    def _retry(self, batch: Batch, loss: Loss, now_s: float, commands: list[Command], reason: str = "") -> None:
        """Queue the jobs of a batch that came to nothing again; those that may not be launched again end."""
        if batch.shadow:
            self.shadows.on_lost(batch.worker)
            return
        endpoint = self._running.pop(batch.id)
        for job, error in self._retries.after(batch, endpoint, loss, reason, now_s):
            if error is None:
                self._enqueue(job, endpoint.stages[job.stage], now_s, commands)
            else:
                self._fail(job, endpoint, error, now_s, commands)

    def _fail(self, job: Job, of: EndpointQueues, error: AccordError, now_s: float, commands: list[Command]) -> None:
        """A job gets no result."""
        self._follow(of.flow.on_failed(job, error, now_s), of, now_s, commands)

    def _end_late(self, lane: Lane, now_s: float, commands: list[Command]) -> None:
        """Take those out whose deadline has come: the endpoint drops them, or no worker is there."""
        for job, endpoint, error in self.queues.take_late(lane, now_s):
            self._fail(job, endpoint, error, now_s, commands)

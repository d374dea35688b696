"""From what waits for a worker to its next batch."""

from collections.abc import Callable, Sequence
from math import inf

from dispatch.admission.control import AdmissionControl
from dispatch.lengths.room import Waiting, room_until_s
from dispatch.query import Batch, Job, quick
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.queues.lane import Lane
from dispatch.queues.length_queue import Bucket, LengthQueue
from dispatch.queues.variant_health import VariantHealth
from dispatch.queues.worker_state import WorkerState
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, Choice, Drop, Hold, QueueView, within

ALONE = GreedySelection()
"""For a job that runs alone where the stage's policy would wait for company, and where it does nothing."""

GIVEN_UP_S = 0.25
"""Where a policy has given up all that came for so long, batches run all the same, until it launches one: the worker
has nothing better to do, and an estimate that is too long would never be corrected otherwise."""


OnFault = Callable[[str, Exception], None]
"""Called with the name of a policy that raised, or said what cannot be carried out, and with the error."""


class BatchMaker:
    """Shows a lane to its stage's selection policy and makes what that says; ``health`` narrows the candidates.

    Where a policy is at fault, ``on_fault`` is told and the greedy policy decides: no query may be lost for it.
    Without ``on_fault`` the error is raised.
    """

    def __init__(self, health: VariantHealth, on_fault: OnFault | None = None) -> None:
        self._health = health
        self._on_fault = on_fault
        self._last_batch_id = 0

    def next(self, worker: WorkerState, lane: Lane, now_s: float) -> Batch | list[Job] | None:
        """The lane's next batch, in which something waits; None, noting until when, where the policy holds.

        Or the jobs that the policy gives up, which have left the lane: it is to be asked again.
        """
        stage = lane.stage
        plan = stage.plan
        queue = lane.queue
        admission: AdmissionControl | None = lane.endpoint.admission
        if admission is not None and (lost := admission.hopeless(lane, now_s)):
            return lost
        first = queue.first()
        if first is None or (first.losses and worker.returning is not None):
            return None
        if (first.excluded or self._health.any_avoided) and plan.central and stage.for_others(lane, first, now_s):
            return self._without_first(worker, lane, now_s)
        rows = before = queue.rows
        held = every = lane.candidates
        waiting: DeadlineQueue = queue
        after_s, queued_rows = plan.after_s, 0
        if isinstance(queue, LengthQueue):
            buckets = queue.waiting()
            waiting = buckets[0].queue
            rows, held, queued_rows = waiting.rows, lane.at(buckets[0].edge), queue.rows_before(inf)
            every = held
            if len(buckets) > 1:
                after_s += _for_others_s(lane, buckets, now_s)
        if self._health.any_avoided:
            held = self._health.usable(worker.id, held, now_s)
        alone = first.alone
        if alone:
            rows = first.rows
            if first.excluded:
                held = _untried(first, worker.id, held, every)
        phase = 0 if plan.balancer is None else plan.balancer.phase(lane.index)
        load_qps = plan.load.load_qps(now_s)
        deadline_s, first_rows, arrival_s = first.deadline_s - after_s, first.rows, first.query.arrival_s
        state = lane.state
        share = lane.endpoint.feedback.share
        if share < 1.0:
            deadline_s = within(share, now_s, deadline_s)
        view = quick(
            QueueView,
            (
                now_s,
                rows,
                deadline_s,
                held,
                load_qps,
                len(stage.lanes),
                phase,
                worker.info.device,
                arrival_s,
                waiting,
                state,
                lane.last,
                first_rows,
                lane.latency,
                share,
                after_s,
                queued_rows,
            ),
        )
        choice = self._choose(lane, view)
        if isinstance(choice, Drop) and after_s > plan.after_s:  # nobody is given up for the sake of other lengths
            due_s = within(share, now_s, first.deadline_s - plan.after_s)
            view = view._replace(earliest_deadline_s=due_s, after_s=plan.after_s)
            choice = self._choose(lane, view)
        if not isinstance(choice, Drop):
            lane.gives_up_since_s = inf
        elif choice.rows >= rows and lane.only_gives_up(now_s, GIVEN_UP_S):
            choice = ALONE.choose(view)
        if isinstance(choice, Hold) and alone:  # runs alone: there is nothing to wait for
            choice = ALONE.choose(view)
        if isinstance(choice, Hold):
            worker.hold_s = min(worker.hold_s, choice.until_s)
            return None
        if isinstance(choice, Drop):
            return list(lane.give_up(choice.rows))
        if admission is not None and admission.pressed(now_s) and not alone:
            choice = admission.fast_enough(lane, choice, view, first.length)
        variant = choice.variant
        jobs = lane.take(choice.rows)
        self._last_batch_id = batch_id = self._last_batch_id + 1
        if choice.state is not None or state is not None:
            lane.batch_id, lane.state, lane.last = batch_id, choice.state, None
        accuracy, batch_rows = lane.accuracies[variant], before - queue.rows
        length = max([job.length for job in jobs]) if queued_rows else 0
        made = (batch_id, worker.id, stage.key, variant, accuracy, jobs, batch_rows, now_s, choice.promise, length)
        return quick(Batch, made)

    def _choose(self, lane: Lane, view: QueueView) -> Choice | Hold | Drop:
        """What the stage's policy says, which can be carried out."""
        policy = lane.stage.plan.selection
        try:
            choice = policy.choose(view)
            if isinstance(choice, Hold):
                if choice.until_s <= view.now_s:
                    raise ValueError(f"policy {policy.name!r} holds until {choice.until_s}; it is {view.now_s} already")
            elif choice.rows < 1:
                what = "drops" if isinstance(choice, Drop) else "launches"
                raise ValueError(f"policy {policy.name!r} {what} {choice.rows} rows; it must be 1 or more")
            elif isinstance(choice, Choice) and choice.variant not in lane.accuracies:
                raise ValueError(f"policy {policy.name!r} launches {choice.variant!r}, which the worker does not hold")
        except Exception as error:
            if self._on_fault is None:
                raise
            self._on_fault(policy.name, error)
            return ALONE.choose(view)
        return choice

    def _without_first(self, worker: WorkerState, lane: Lane, now_s: float) -> Batch | list[Job] | None:
        """The next batch from a common queue whose first jobs other workers should run, which stay there."""
        queue, left = lane.queue, []
        made: Batch | list[Job] | None = None
        while (job := queue.first()) is not None and lane.stage.for_others(lane, job, now_s):
            if not job.excluded:  # so they should whatever is due later
                job = None
                break
            left.append(queue.pop())
        if job is not None:
            made = self.next(worker, lane, now_s)
        for each in left:
            queue.push(each)
        return made


def _untried(
    job: Job, worker: str, usable: tuple[Candidate, ...], every: tuple[Candidate, ...]
) -> tuple[Candidate, ...]:
    """Of a worker's candidates those that have not failed on the job.

    The ``usable`` ones that failed on no worker; where there are none, those that did not fail on this one; then those
    of ``every`` candidate; and all that are usable where each of them failed here.
    """
    anywhere = {variant for _, variant in job.excluded}
    here = {variant for where, variant in job.excluded if where == worker}
    for candidates, failed in ((usable, anywhere), (usable, here), (every, here)):
        if found := tuple(c for c in candidates if c.variant not in failed):
            return found
    return usable


def _for_others_s(lane: Lane, buckets: Sequence[Bucket], now_s: float) -> float:
    """How much earlier than due the first bucket's batch should be done for the sake of the others."""
    waiting, after_s = [], lane.stage.plan.after_s
    for edge, queue in buckets:
        first = queue.first()
        assert first is not None
        waiting.append(Waiting(first.deadline_s - after_s, queue.rows, lane.at(edge)))
    workers = len(lane.stage.lanes) if lane.stage.plan.central else 1
    return waiting[0].deadline_s - room_until_s(waiting, now_s, workers)

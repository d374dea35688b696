"""From what waits for a worker to its next batch."""

from collections.abc import Sequence

from dispatch.query import Batch, Job, quick
from dispatch.queues.lane import Lane
from dispatch.queues.variant_health import VariantHealth
from dispatch.queues.worker_state import WorkerState
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Drop, Hold, QueueView, within

ALONE = GreedySelection()
"""For a job that runs alone where the stage's policy would wait for company."""


class BatchMaker:
    """Shows a lane to its stage's selection policy and makes what that says; ``health`` narrows the candidates."""

    def __init__(self, health: VariantHealth) -> None:
        self._health = health
        self._last_batch_id = 0

    def next(self, worker: WorkerState, lane: Lane, now_s: float) -> Batch | Sequence[Job] | None:
        """The lane's next batch, in which something waits; None, noting until when, where the policy holds.

        Or the jobs that the policy gives up, which have left the lane: it is to be asked again.
        """
        stage = lane.stage
        plan = stage.plan
        queue = lane.queue
        first = queue.first()
        if first is None:
            return None
        rows = before = queue.rows
        held = lane.candidates
        if self._health.any_avoided:
            held = self._health.usable(worker.id, held, now_s)
        if first.excluded:
            held = tuple(c for c in lane.candidates if c.variant not in first.excluded) or held
            rows = first.rows
        phase = 0 if plan.balancer is None else plan.balancer.phase(lane.index)
        load_qps = plan.load.load_qps(now_s)
        after_s = plan.after_s
        deadline_s, first_rows, arrival_s = first.deadline_s - after_s, first.rows, first.query.arrival_s
        state = lane.state
        share = lane.endpoint.feedback.share
        if share < 1.0:
            deadline_s, load_qps = within(share, now_s, deadline_s), load_qps / share
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
                queue,
                state,
                lane.last,
                first_rows,
                lane.latency,
                share,
                after_s,
            ),
        )
        choice = plan.selection.choose(view)
        if isinstance(choice, Hold) and first.excluded:  # runs alone: there is nothing to wait for
            choice = ALONE.choose(view)
        if isinstance(choice, Hold):
            if choice.until_s <= now_s:
                name = plan.selection.name
                raise ValueError(f"policy {name!r} holds until {choice.until_s}; it is {now_s} already")
            worker.hold_s = min(worker.hold_s, choice.until_s)
            return None
        if isinstance(choice, Drop):
            if choice.rows < 1:
                raise ValueError(f"policy {plan.selection.name!r} drops {choice.rows} rows; it must be 1 or more")
            return lane.give_up(choice.rows)
        variant = choice.variant
        jobs = lane.take(choice.rows)
        self._last_batch_id = batch_id = self._last_batch_id + 1
        if choice.state is not None or state is not None:
            lane.batch_id, lane.state, lane.last = batch_id, choice.state, None
        accuracy, batch_rows = lane.accuracies[variant], before - queue.rows
        made = (batch_id, worker.id, stage.key, variant, accuracy, jobs, batch_rows, now_s, choice.promise)
        return quick(Batch, made)

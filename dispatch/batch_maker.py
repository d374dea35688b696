"""From what waits for a worker to its next batch."""

from dispatch import refusals
from dispatch.commands import Command, Reject
from dispatch.query import Batch, quick
from dispatch.queues.lane import Lane
from dispatch.queues.variant_health import VariantHealth
from dispatch.queues.worker_state import WorkerState
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Drop, Hold, QueueView, within

ALONE = GreedySelection()
"""For a job that runs alone where the endpoint's policy would wait for company."""


class BatchMaker:
    """Shows a lane to its endpoint's selection policy and makes what that says; ``health`` narrows the candidates."""

    def __init__(self, health: VariantHealth) -> None:
        self._health = health
        self._last_batch_id = 0

    def next(self, worker: WorkerState, lane: Lane, now_s: float, commands: list[Command]) -> Batch | None:
        """The lane's next batch, in which something waits; None, noting until when, where the policy holds.

        Queries that the policy gives up are refused in ``commands``; None where none is left.
        """
        plan = lane.endpoint.plan
        queue = lane.queue
        while (first := queue.first()) is not None:
            rows = before = queue.rows
            held = self._health.usable(worker.id, lane.candidates, now_s)
            if first.excluded:
                held = tuple(c for c in lane.candidates if c.variant not in first.excluded) or held
                rows = first.query.rows
            phase = 0 if plan.balancer is None else plan.balancer.phase(lane.index)
            load_qps = plan.load.load_qps(now_s)
            _, _, arrival_s, deadline_s, first_rows, _ = first.query
            workers = len(lane.endpoint.lanes)
            device, state, last = worker.device, lane.state, lane.last
            share = lane.endpoint.feedback.share
            if share < 1.0:
                deadline_s, load_qps = within(share, now_s, deadline_s), load_qps / share
            seen = (now_s, rows, deadline_s, held, load_qps, workers, phase, device)
            view = quick(QueueView, (*seen, arrival_s, queue, state, last, first_rows, lane.latency, share))
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
                for job in lane.give_up(choice.rows):
                    commands.append(Reject(job.query, refusals.deadline_out_of_reach(job.query, now_s)))
                continue
            variant = choice.variant
            jobs = lane.take(choice.rows)
            self._last_batch_id = batch_id = self._last_batch_id + 1
            if choice.state is not None or state is not None:
                lane.batch_id, lane.state, lane.last = batch_id, choice.state, None
            accuracy, batch_rows = lane.accuracies[variant], before - queue.rows
            launched = (batch_id, worker.id, plan.name, variant, accuracy, jobs, batch_rows, now_s)
            return quick(Batch, (*launched, choice.promise))
        return None

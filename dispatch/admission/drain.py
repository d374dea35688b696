"""When workers would be done with what waits, if they did their most from now on."""

from dispatch.admission.pace import Pace
from dispatch.queues.lane import Lane
from dispatch.queues.stage_queues import StageQueues
from dispatch.queues.worker_state import WorkerState
from dispatch.selection.policy import KeepsToOne


def pace_of(lane: Lane) -> Pace:
    """What the lane's worker can do at most; made anew when its candidates change."""
    pace = lane.pace
    if pace is None:
        plan, candidates = lane.stage.plan, lane.candidates
        if isinstance(plan.selection, KeepsToOne):
            candidates = tuple(c for c in candidates if c.variant == plan.selection.variant) or candidates
        pace = lane.pace = Pace.of(candidates, lane.stage.slo_s - plan.after_s)
    return pace


def free_s(worker: WorkerState, now_s: float) -> float:
    """When the worker should be done with the batch that it runs; now where that is overdue or not known."""
    batch = worker.batch
    lane = None if batch is None else worker.lanes.get(batch.stage)
    if batch is None or lane is None:
        return now_s
    candidate = lane.candidate_of(batch)
    if candidate is None:
        return now_s
    return max(now_s, batch.launched_s + candidate.time_s(candidate.busy_s, batch.rows))


def own_end_s(worker: WorkerState, lane: Lane, rows: int, deadline_s: float, now_s: float) -> float:
    """When so many rows of a worker's own queue could have results, behind what is due before ``deadline_s`` in its
    others."""
    end_s = free_s(worker, now_s) + pace_of(lane).run_s(rows)
    if len(worker.lanes) > 1:
        for other in worker.lanes.values():
            first = None if other is lane else other.queue.first()
            if first is not None and first.deadline_s <= deadline_s:
                sharing = len(other.stage.lanes) if other.stage.plan.central else 1
                end_s += pace_of(other).busy_s(other.queue.rows) / sharing
    return end_s


def common_end_s(stage: StageQueues, rows: int, deadline_s: float, now_s: float) -> float:
    """When so many rows of a stage could have results, from all of its workers together."""
    if len(stage.lanes) == 1:
        return own_end_s(stage.workers[0], stage.lanes[0], rows, deadline_s, now_s)
    paces = [pace_of(lane) for lane in stage.lanes]
    batch_rows = min(rows, max(pace.batch_rows for pace in paces))
    rate = sum(pace.rate for pace in paces)
    begin_s = min(free_s(worker, now_s) for worker in stage.workers)
    return begin_s + (rows - batch_rows) / rate + min(pace.run_s(batch_rows) for pace in paces)

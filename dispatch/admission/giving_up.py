"""Which of the jobs that wait are given up, since no variant can meet them any more."""

from math import inf

from dispatch.admission.drain import pace_of
from dispatch.query import Job
from dispatch.queues.lane import Lane


def hopeless(lane: Lane, now_s: float, margin_s: float, *, pressed: bool) -> list[Job]:
    """Take out the first jobs of a lane that no variant can meet, ``margin_s`` before their deadlines, by mean
    latencies. Unless capacity is short (``pressed``), only where more waits than the lane's worker has in one batch.

    Where workers share the queue, the fastest of them counts: what it can meet is not given up because a slower one is
    idle first. Where all that waits would be given up, a batch's worth stays, those due last, or one job: the worker
    has nothing better to do, and an estimate that is too long would never be corrected otherwise.
    """
    queue, pace, stage = lane.queue, pace_of(lane), lane.stage
    waiting = queue.rows_before(inf)  # where lengths differ, as so many rows of the usual one, and so is a batch
    beyond: float = waiting - pace.batch_rows
    first = queue.first()
    if first is None or (beyond <= 0 and not pressed):
        return []
    by_s = now_s + margin_s
    rows = stage.worth_rows(first.rows, first.length)
    if first.deadline_s >= by_s + pace.run_s(rows):  # by this worker already: the others are not looked at
        return []
    paces = [pace_of(each) for each in stage.lanes] if stage.plan.central else [pace]
    lost: list[Job] = []
    if queue.rows_before(by_s + min([each.least_s[1] for each in paces])) >= waiting:
        while first is not None and beyond > 0 and len(queue) > 1:
            beyond -= first.rows * stage.lanes[0].weight(first.length)  # as the queue weighs them
            lost += lane.give_up(first.rows)
            first = queue.first()
        return lost
    least_s: dict[int, float] = {}  # by rows
    while first is not None:
        rows = stage.worth_rows(first.rows, first.length)
        if rows not in least_s:
            least_s[rows] = min([each.run_s(rows) for each in paces])
        if first.deadline_s >= by_s + least_s[rows]:
            break
        lost += lane.give_up(first.rows)
        first = queue.first()
    return lost

"""Per batch a faster variant than the planned one, where the slack demands it."""

from bisect import bisect_right
from collections.abc import Sequence

from dispatch.batching.window import ROUNDING_S
from dispatch.selection.policy import Candidate, QueueView


def fallen_back(view: QueueView, planned: Candidate) -> Candidate:
    """The ``planned`` candidate, or a less accurate one that serves what waits where the planned one cannot.

    A plan takes seconds to come, and what comes between two plans waits in queues: the choice looks at all that waits,
    in batches one after the other, not only at the next batch. The most accurate candidate with which everything is in
    time is taken; where there is none, the one with which most is, of equals the more accurate. The next batch is
    decided anew, so that the planned variant returns as soon as it can serve what waits.
    """
    if len(view.candidates) == 1:
        return planned
    if view.rows <= planned.max_batch and planned.latency_s[view.rows] <= view.slack_s - ROUNDING_S:
        return planned
    deadlines_s = view.deadlines_s()
    best, most = planned, rows_in_time(planned, view.now_s, deadlines_s)
    for candidate in view.candidates:
        if most == len(deadlines_s):
            break
        if candidate.accuracy < planned.accuracy:
            rows = rows_in_time(candidate, view.now_s, deadlines_s)
            if rows > most:
                best, most = candidate, rows
    return best


def rows_in_time(candidate: Candidate, now_s: float, deadlines_s: Sequence[float]) -> int:
    """How many rows with these deadlines, ascending, batches of the candidate alone serve in time, one after another.

    Every batch is as large as its first deadline allows; a row that no batch can serve in time is passed over.
    """
    latency_s, begin_s = candidate.latency_s, now_s + ROUNDING_S
    number = in_time = 0
    while number < len(deadlines_s):
        most = candidate.batch_rows(len(deadlines_s) - number)
        rows = bisect_right(latency_s, deadlines_s[number] - begin_s, 1, most + 1) - 1
        if rows:
            in_time += rows
            begin_s += latency_s[rows]
        number += max(rows, 1)
    return in_time

"""Per batch a faster variant than the planned one, where the slack demands it."""

from bisect import bisect_right
from collections.abc import Sequence
from math import isinf, sqrt

from dispatch.batching.window import ROUNDING_S
from dispatch.selection.policy import Candidate, QueueView

DEVIATIONS = 1.5
"""So many standard deviations more than usual are reckoned to come while a batch runs, if queries come at random. Of
0.5, 1, 1.5, 2 and 3, by traces of `benchmarks.proteus` (docs/accuracy-scaling.md)."""


def fallen_back(view: QueueView, planned: Candidate) -> Candidate:
    """The ``planned`` candidate, or a less accurate one that serves what waits where the planned one cannot.

    A plan takes seconds to come, and what comes between two plans waits in queues. The choice therefore looks at all
    that waits, in batches one after the other, not only at the next batch, and at those who will have come until that
    is done: the most accurate candidate is taken that serves what waits and leaves time for the fastest to serve the
    rest and them. Where none does, what waits alone counts: the most accurate with which everything is in time is
    taken, and where there is none, the one with which most is, of equals the more accurate. The next batch is decided
    anew, so that the planned variant returns as soon as it can serve what waits.
    """
    if len(view.candidates) == 1:
        return planned
    deadlines_s = view.deadlines_s()
    fastest = min(view.candidates, key=_row_s)
    best, most = planned, -1
    for candidate in (planned, *(each for each in view.candidates if each.accuracy < planned.accuracy)):
        rows = rows_in_time(candidate, view.now_s, deadlines_s)
        if rows == len(deadlines_s) and _leaves_time(view, candidate, fastest, deadlines_s):
            return candidate
        if rows > most:
            best, most = candidate, rows
    return best


def rows_in_time(candidate: Candidate, now_s: float, deadlines_s: Sequence[float]) -> int:
    """How many rows with these deadlines, ascending, batches of the candidate alone serve in time, one after another.

    Every batch is as large as its first deadline allows; a row that no batch can serve in time is passed over.
    """
    latency_s, busy_s, begin_s = candidate.latency_s, candidate.busy_s, now_s + ROUNDING_S
    number = in_time = 0
    while number < len(deadlines_s):
        most = candidate.batch_rows(len(deadlines_s) - number)
        rows = bisect_right(latency_s, deadlines_s[number] - begin_s, 1, most + 1) - 1
        if rows:
            in_time += rows
            begin_s += busy_s[rows]
        number += max(rows, 1)
    return in_time


def _row_s(candidate: Candidate) -> float:
    """The worker's time for a row in a full batch."""
    return candidate.busy_s[-1] / candidate.max_batch


def _leaves_time(view: QueueView, candidate: Candidate, fastest: Candidate, deadlines_s: Sequence[float]) -> bool:
    """Whether after a batch of the candidate, which could serve all that waits, the fastest serves the rest and who
    comes meanwhile.

    Those to come are evenly spread over the batch, a worker's equal part of the load, and have as much time as the most
    urgent query had.
    """
    batch = candidate.batch_rows(len(deadlines_s))
    busy_s = candidate.busy_s[batch]
    usual = 0.0 if isinf(view.first_arrival_s) else view.load_qps * busy_s / max(view.workers, 1)
    coming = round(usual + DEVIATIONS * sqrt(usual))
    if not coming:
        return True
    if candidate.latency_s[batch] > view.slack_s - ROUNDING_S:  # a batch cut short serves fewer rows per second
        return False
    given_s = view.earliest_deadline_s - view.first_arrival_s
    if coming * _row_s(fastest) > given_s + fastest.latency_s[-1]:
        return False
    gap_s = busy_s / coming
    to_come_s = (view.now_s + gap_s * (number + 0.5) + given_s for number in range(coming))
    rest_s = sorted([*deadlines_s[batch:], *to_come_s])
    return rows_in_time(fastest, view.now_s + busy_s, rest_s) == len(rest_s)

"""Whether a worker has spare capacity."""

from dispatch.queues.lane import Lane
from dispatch.queues.worker_state import WorkerState

MOST_ARRIVALS = 4.0
"""Queries that may be expected to come for a worker during one shadow run: at a share of 1%, shadow runs so take 4% of
its time at most."""


def has_spare_capacity(worker: WorkerState, run_s: float, now_s: float) -> bool:
    """Whether a worker may be kept busy for ``run_s`` with what no client waits for.

    It is idle and nothing waits for it; of each endpoint that it serves, a query that came at once, and as many more as
    are to be expected, could wait for the whole run and still be answered in time by the slowest of the variants that
    are in time at all, so that selection keeps its choice; no endpoint is short of time (`SlackFeedback`, admission
    control); and no more than `MOST_ARRIVALS` queries are to be expected meanwhile.
    """
    if worker.under_way:
        return False
    expected = 0.0
    for lane in worker.lanes.values():
        own = run_s * lane.stage.plan.load.load_qps(now_s) / len(lane.stage.lanes)
        if lane.queue.rows or _short_of_time(lane, now_s) or not _in_time(lane, run_s, 1 + round(own)):
            return False
        expected += own
    return expected <= MOST_ARRIVALS


def _in_time(lane: Lane, run_s: float, rows: int) -> bool:
    """Whether so many rows that wait for ``run_s`` can be a batch of the slowest variant that is in time alone."""
    time_s = lane.stage.slo_s - lane.stage.plan.after_s
    slowest = max(
        (each for each in lane.candidates if each.latency_s[1] <= time_s),
        key=lambda each: each.latency_s[1],
        default=None,
    )
    return slowest is not None and run_s + slowest.latency_s[min(rows, slowest.max_batch)] <= time_s


def _short_of_time(lane: Lane, now_s: float) -> bool:
    endpoint = lane.endpoint
    return endpoint.feedback.share < 1.0 or (endpoint.admission is not None and endpoint.admission.pressed(now_s))

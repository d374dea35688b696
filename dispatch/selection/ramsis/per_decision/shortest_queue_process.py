"""Arrivals at one worker when each query joins the shortest queue (RAMSIS, appendix I.1)."""

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.launches import Launches
from dispatch.selection.ramsis.per_decision.transitions import Transitions
from dispatch.selection.ramsis.problem import WorkerProblem

LONG_QUEUE_ROWS = 3
"""From so many rows on a queue is one that others are shorter than."""


def conditional_rate_qps(load_qps: float, workers: int, service_rate_qps: float, rows: int) -> float:
    """Arrival rate at a worker with ``rows`` in its queue, by the approximation of appendix I.1.

    ``service_rate_qps`` is what one worker can serve at most; a load beyond it counts as just that.
    """
    if rows < LONG_QUEUE_ROWS:
        return load_qps / workers
    utilisation = min(load_qps / (workers * service_rate_qps), 1.0)
    return utilisation**workers * service_rate_qps


def service_rate_qps(problem: WorkerProblem) -> float:
    """Queries per second of the slowest variant that keeps up with the load within the objective, else the fastest."""
    rates = []
    for latency_s in problem.latency_s:
        in_time = [(rows + 1) / latency for rows, latency in enumerate(latency_s) if latency <= problem.slo_s]
        rates.append(max(in_time, default=1.0 / latency_s[0]))
    enough = [rate for rate in rates if rate * problem.workers >= problem.load_qps]
    return min(enough, default=max(rates))


def shortest_queue_transitions(
    problem: WorkerProblem, launches: Launches, slack_s: NDArray[np.float64]
) -> tuple[tuple[NDArray[np.intp], Transitions], ...]:
    """Transitions of launches from short and from long queues; there is one phase, since nobody takes turns."""
    served_qps = service_rate_qps(problem)
    parts = []
    for rows, part in (
        (1, np.flatnonzero(launches.rows < LONG_QUEUE_ROWS)),
        (LONG_QUEUE_ROWS, np.flatnonzero(launches.rows >= LONG_QUEUE_ROWS)),
    ):
        if len(part):
            rate_qps = conditional_rate_qps(problem.load_qps, problem.workers, served_qps, rows)
            arrivals = problem.arrivals.at_rate(rate_qps)
            parts.append((part, Transitions(launches.latency_s[part], slack_s, arrivals, 1, problem.max_queue_rows)))
    return tuple(parts)

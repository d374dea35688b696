"""The shortest-queue form, and the whole system in a plain simulation."""

import numpy as np
import pytest

from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.solver import solve


def shared(load_qps: float, workers: int) -> WorkerProblem:
    latency_s = (tuple(0.01 + 0.008 * n for n in range(1, 9)), tuple(0.02 + 0.02 * n for n in range(1, 9)))
    return WorkerProblem(
        ("fast", "slow"), (0.6, 0.9), latency_s, 0.1, workers, Poisson(load_qps), "per_decision",
        balancing="shortest_queue",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("workers", "load_qps", "below"),
    [
        (4, 40.0, 0.07),
        (4, 100.0, 0.07),
        (4, 200.0, 0.07),
        (4, 300.0, 0.09),
        (12, 300.0, 0.09),
        (12, 600.0, 0.07),
        (12, 900.0, 0.09),
    ],
)
def test_expected_accuracy_stays_below_that_of_a_simulation(workers: int, load_qps: float, below: float) -> None:
    """From light load to batches of three and more on every worker."""
    count = 40_000
    solved = shared(load_qps, workers)
    table = solve(solved)
    rng = np.random.default_rng(4)
    times_s = np.cumsum(rng.exponential(1.0 / load_qps, count))
    queues: list[list[float]] = [[] for _ in range(workers)]
    busy_until_s, running = np.zeros(workers), np.zeros(workers, dtype=int)
    accuracy = 0.0

    def launch(worker: int, now_s: float) -> float:
        queue = queues[worker]
        variant, rows = table.lookup(len(queue), queue[0] + solved.slo_s - now_s)
        done_s = now_s + solved.latency_s[variant][rows - 1]
        gained = rows * solved.accuracies[variant] * (done_s <= queue[0] + solved.slo_s + 1e-9)
        del queue[:rows]
        busy_until_s[worker], running[worker] = done_s, rows
        return float(gained)

    for now_s in times_s:
        while True:
            due = [w for w in range(workers) if queues[w] and busy_until_s[w] <= now_s]
            if not due:
                break
            first = min(due, key=lambda w: busy_until_s[w])
            accuracy += launch(first, busy_until_s[first])
        running[busy_until_s <= now_s] = 0
        loads = [len(queues[w]) + running[w] for w in range(workers)]
        worker = int(np.argmin(loads))
        queues[worker].append(now_s)
        if busy_until_s[worker] <= now_s:
            accuracy += launch(worker, now_s)
    assert accuracy / count - below < table.expected_accuracy < accuracy / count + 0.005

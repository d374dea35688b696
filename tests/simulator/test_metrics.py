"""Metrics, counted by hand."""

import numpy as np
import pytest

from simulator.batch_log import Batches
from simulator.metrics import Metrics, Windows
from simulator.record import Record


def record(*queries: tuple[float, float | None, float], slo_s: float = 1.0) -> Record:
    """One batch for each answered query: (arrival, response time or None where refused, accuracy from 0 to 1)."""
    arrival_s = np.array([arrival for arrival, _, _ in queries])
    served = [index for index, (_, response, _) in enumerate(queries) if response is not None]
    launched_s = arrival_s[served]
    done_s = np.array([queries[i][0] + (queries[i][1] or 0.0) for i in served])
    zeros = np.zeros(len(served), dtype=np.intp)
    accuracy = np.array([queries[index][2] for index in served])
    ids = np.array(served, dtype=np.intp)
    batches = Batches(["v"], ["w"], zeros, zeros, accuracy, zeros + 1, launched_s, done_s, ids)
    endpoint = np.zeros(len(queries), dtype=np.intp)
    return Record(["e"], arrival_s, arrival_s + slo_s, endpoint, batches.of_queries(len(queries)), batches)


SCENE = record(
    (0.0, 0.5, 1.0),
    (9.0, 2.0, 0.9),  # late, in the first window, though its answer comes in the second
    (10.0, 0.5, 0.8),
    (12.0, None, 0.0),
    (13.0, 1.0, 0.7),  # on its deadline, which is in time
    (14.0, None, 0.0),
    (25.0, None, 0.0),  # a window without answers has no accuracy
    (40.0, 0.25, 0.9),
)


def test_windows_count_queries_by_their_arrival() -> None:
    windows = Windows.of(SCENE, 10.0)
    assert windows.start_s.tolist() == [0.0, 10.0, 20.0, 30.0, 40.0]
    assert windows.arrived.tolist() == [2, 4, 1, 0, 1]
    assert windows.answered.tolist() == [2, 2, 0, 0, 1]
    assert windows.violated.tolist() == [1, 2, 1, 0, 0]
    assert windows.effective_accuracy_pct == pytest.approx([95.0, 75.0, np.nan, np.nan, 90.0], nan_ok=True)


def test_the_metrics_of_a_small_run() -> None:
    assert Metrics.of(SCENE).as_json() == pytest.approx(
        {
            "throughput_qps": 5 / 40,
            "peak_throughput_qps": 2 / 10,
            "effective_accuracy_pct": 100 * (1.0 + 0.9 + 0.8 + 0.7 + 0.9) / 5,
            "max_accuracy_drop_pct": 25.0,
            "slo_violation_ratio": (8 - 5 + 1) / 8,
        }
    )


def test_the_peak_is_where_most_arrive_not_where_most_is_answered() -> None:
    crowd = [(10.0 + number, None, 0.0) for number in range(5)]
    few = [(20.0 + number, 0.5, 1.0) for number in range(4)]
    assert Metrics.of(record((0.0, 0.5, 1.0), *crowd, *few)).peak_throughput_qps == 0.0


@pytest.mark.parametrize(("last_s", "drop_pct"), [(20.0, 20.0), (24.0, 20.0), (25.0, 50.0)])
def test_the_drop_is_not_that_of_the_one_query_with_which_a_window_begins(last_s: float, drop_pct: float) -> None:
    queries = [(10.0 + number, 0.5, 0.9) for number in range(3)]
    metrics = Metrics.of(record((0.0, 0.5, 1.0), *queries, (last_s, 0.5, 0.5)))
    assert metrics.max_accuracy_drop_pct == pytest.approx(drop_pct), "of 90, 90, 90 and 50% together, or of 50% alone"


def test_where_nothing_is_answered_there_is_no_accuracy() -> None:
    metrics = Metrics.of(record((0.0, None, 0.0), (2.0, None, 0.0)))
    assert metrics == Metrics(0.0, 0.0, None, None, 1.0)


def test_where_nothing_arrives_all_is_nought() -> None:
    assert Metrics.of(record()) == Metrics(0.0, 0.0, None, None, 0.0)

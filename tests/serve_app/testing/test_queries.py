"""What the server and what the client calls a violation."""

import numpy as np
import pytest

from promise_scene import record
from serve_app.testing.queries import Queries

BEGAN_S = 1000.0


def some() -> Queries:
    rows = [
        record(0.0),
        record(1.0, late=True),
        record(2.0, error="Saturated"),
        record(3.0, done_s=3.5),  # in time for the server, late for the client
    ]
    return Queries.of(rows, BEGAN_S)


def test_the_server_counts_what_it_calls_late_and_errors_and_the_client_goes_by_its_clock() -> None:
    queries = some()
    assert queries.violated.tolist() == [False, True, True, False]
    assert queries.violated_at_client(100.0).tolist() == [False, False, True, True]


def test_instants_are_of_the_clock_that_the_run_began_by() -> None:
    queries = some()
    assert queries.intended_s.tolist() == [1000.0, 1001.0, 1002.0, 1003.0]
    assert queries.latency_ms == pytest.approx([20.0, 20.0, 20.0, 500.0])
    assert queries.lag_ms == pytest.approx([1.0] * 4)


def test_a_span_has_its_start_and_not_its_end() -> None:
    assert some().intended_in([(1000.0, 1001.0), (1003.0, 1009.0)]).intended_s.tolist() == [1000.0, 1003.0]


def test_parts_are_joined_one_after_the_other() -> None:
    first, second = some(), Queries.of([record(0.0, variant="other")], 2000.0)
    joined = Queries.joined([first, second])
    assert joined.intended_s.tolist() == [*first.intended_s.tolist(), 2000.0]
    assert joined.variant.tolist() == ["good", "good", "", "good", "other"]


def test_unknown_labels_and_accuracies_are_not_numbers() -> None:
    queries = Queries.of([record(0.0, error="timeout"), record(1.0, correct=False)], 0.0)
    assert np.isnan(queries.correct[0])
    assert np.isnan(queries.accuracy[0])
    assert queries.correct[1] == 0.0

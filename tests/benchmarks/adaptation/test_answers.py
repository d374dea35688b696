"""What came back is counted as clients see it."""

import numpy as np
import pytest

from adaptation_scene import record
from benchmarks.adaptation.answers import Answers


def test_late_answers_and_failures_violate_and_the_objective_is_the_endpoints_own() -> None:
    answers = Answers.of(
        {
            "slow": [record(0.0, 0.09), record(2.0, 0.11), record(4.0, 0.01, error="Saturated")],
            "fast": [record(1.0, 0.04), record(3.0, 0.06)],
        },
        {"slow": 100.0, "fast": 50.0},
    )
    assert answers.intended_s.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert answers.violated.tolist() == [False, False, True, True, True]
    assert answers.failed.tolist() == [False, False, False, False, True]
    assert answers.violation_pct == pytest.approx(60.0)


def test_accuracy_is_of_answers_that_tell_it() -> None:
    answers = Answers.of(
        {"e": [record(0.0, 0.01, 0.9), record(1.0, 0.01, 0.8), record(2.0, 0.01, None, error="NoWorker")]}, {"e": 50.0}
    )
    assert answers.accuracy_pct == pytest.approx(85.0)


def test_the_percentile_is_of_what_was_answered() -> None:
    answers = Answers.of({"e": [record(0.0, 0.02), record(1.0, 9.0, error="timeout")]}, {"e": 50.0})
    assert answers.p99_ms() == pytest.approx(20.0)


def test_nothing_has_no_figures() -> None:
    answers = Answers.of({"e": []}, {"e": 50.0})
    assert (answers.violation_pct, answers.accuracy_pct, answers.p99_ms()) == (None, None, None)


def test_windows_hold_every_query_once_and_leave_out_what_does_not_fill_one() -> None:
    instants_s = np.arange(0.0, 4.6, 0.1).round(1)
    answers = Answers.of({"e": [record(float(each), 0.01) for each in instants_s]}, {"e": 50.0})
    windows = answers.windows(1.0, 4.5, 1.0)
    assert [each.intended_s.tolist() for each in windows] == [
        [instant for instant in instants_s.tolist() if start <= instant < start + 1] for start in (1.0, 2.0, 3.0)
    ]


def test_spans_begin_with_their_start_and_end_before_their_end() -> None:
    answers = Answers.of({"e": [record(float(each), 0.01) for each in range(7)]}, {"e": 50.0})
    assert answers.where(answers.inside([(1.0, 3.0), (2.0, 4.0), (6.0, 9.0)])).intended_s.tolist() == [1, 2, 3, 6]

"""A status is believed where its words, its figures and the answers agree."""

from typing import Any

import pytest

from benchmarks.promise.cases.windows import WindowCounts, bounds_hold, contradicts_itself, count_windows
from promise_scene import ENDPOINT, record, snapshot, violating
from serve_app.testing.queries import Queries

QUIET = violating([0] * 40)
BROKEN = violating([20] * 40)


def judged(of: Queries, /, **guarantee: Any) -> WindowCounts:
    return count_windows([snapshot(30.0, **guarantee)], ENDPOINT, of)


def test_a_promise_that_is_kept_and_called_so_agrees() -> None:
    assert judged(QUIET) == WindowCounts(yes=1, bounds=1, bounds_right=1, promises=1, promises_right=1)
    assert judged(QUIET).agree_share == 1.0


def test_one_that_is_broken_and_called_so_agrees_too_but_its_bound_is_on_the_wrong_side() -> None:
    counts = judged(BROKEN, kept="no", observed_violation_rate=0.2)
    assert counts == WindowCounts(no=1, bounds=1, promises=1)
    assert (counts.agree_share, counts.bounds_right_share) == (1.0, 0.0)


def test_a_bound_that_says_how_much_will_be_late_is_right_beside_a_promise_that_is_broken() -> None:
    counts = judged(
        BROKEN, kept="no", observed_violation_rate=0.2, predicted_violation_rate=0.25, expected_violation_rate=None
    )
    assert counts == WindowCounts(no=1, bounds=1, bounds_right=1, promises=1)


def test_yes_beside_figures_that_say_no_contradicts_itself() -> None:
    assert judged(BROKEN, observed_violation_rate=0.2).contradicted == 1
    assert contradicts_itself({"kept": "no", "observed_violation_rate": 0.01, "promised_violation_rate": 0.01})
    assert contradicts_itself({"kept": "yes", "observed_violation_rate": None, "promised_violation_rate": 0.01})


def test_figures_that_are_not_those_of_the_answers_are_miscounted() -> None:
    counts = judged(BROKEN, observed_violation_rate=0.0)
    assert (counts.miscounted, counts.agree_share) == (1, 0.0)


@pytest.mark.parametrize(("observed", "miscounted"), [(0.029, 1), (0.031, 0), (0.049, 0), (0.051, 1)])
def test_a_point_of_slack_is_left_to_the_count(observed: float, miscounted: int) -> None:
    counts = judged(violating([4] * 40), kept="no", observed_violation_rate=observed)
    assert counts.miscounted == miscounted


def test_a_rate_that_changes_within_the_answer_is_any_of_those_around_it() -> None:
    late = violating([0] * 30 + [100] * 10)
    for observed in (0.0, 0.02, 0.04):
        assert judged(late, kept="yes" if observed <= 0.01 else "no", observed_violation_rate=observed).miscounted == 0
    assert judged(late, kept="no", observed_violation_rate=0.2).miscounted == 1


def test_a_window_that_began_before_the_first_query_is_not_counted_after() -> None:
    counts = count_windows([snapshot(5.0, kept="no", observed_violation_rate=0.9)], ENDPOINT, QUIET)
    assert (counts.no, counts.miscounted) == (1, 0)


def test_too_early_and_silence_are_neither_right_nor_wrong() -> None:
    counts = judged(QUIET, kept="too early") + judged(QUIET, kept=None)
    assert (counts.too_early, counts.silent, counts.agree_share) == (1, 1, None)


def test_a_status_without_queries_or_without_the_endpoint_says_nothing() -> None:
    assert judged(QUIET, queries=0) == WindowCounts()
    assert count_windows([snapshot(30.0)], "other", QUIET) == WindowCounts()
    assert count_windows([snapshot(30.0)], ENDPOINT, Queries.of([], 0.0)) == WindowCounts()


@pytest.mark.parametrize(
    ("guarantee", "right"),
    [
        ({}, True),
        ({"predicted_violation_rate": 0.0499}, False),
        ({"predicted_violation_rate": 0.0501}, True),
        ({"predicted_accuracy": 0.9009}, True),
        ({"predicted_accuracy": 0.9011}, False),
        ({"predicted_accuracy": None}, None),
        ({"predicted_violation_rate": None}, None),
        ({"expected_violation_rate": 0.01, "observed_violation_rate": 0.02}, False),
        ({"observed_accuracy": 0.8491}, True),
        ({"observed_accuracy": 0.8489}, False),
        ({"expected_accuracy": None, "observed_accuracy": 0.1}, True),
        ({"observed_accuracy": None}, True),
    ],
)
def test_bounds_hold_where_all_that_is_predicted_comes_and_all_that_tables_expect_was_seen(
    guarantee: dict[str, Any], right: bool | None
) -> None:
    told = snapshot(0.0, **{"predicted_violation_rate": 0.06, **guarantee}).endpoint(ENDPOINT)["guarantee"]
    assert bounds_hold(told, violating([5] * 4)) is right


def test_what_came_before_a_bound_was_told_or_after_a_change_does_not_count() -> None:
    late = violating([50] * 30 + [0] * 5 + [50] * 5)
    told = {"kept": "no", "observed_violation_rate": 0.5, "expected_violation_rate": None}
    seen = [snapshot(at_s, **told) for at_s in (29.0, 30.0, 32.9, 33.1, 36.0)]
    counts = count_windows(seen, ENDPOINT, late, [(29.5, 35.0), (38.5, 40.0)])
    assert (counts.bounds, counts.bounds_right) == (2, 2), "two seconds at least of what is to come"
    assert count_windows(seen[:1], ENDPOINT, late).bounds_right == 0


def test_counts_add_up() -> None:
    queries = Queries.of([record(0.0)], 0.0)
    both = count_windows([snapshot(30.0), snapshot(31.0, kept="too early")], ENDPOINT, queries)
    assert (both.yes, both.too_early, both.promises) == (1, 1, 2)

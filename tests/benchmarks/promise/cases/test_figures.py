"""Figures of queries, and recovery over all that is left."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.promise.cases.figures import LEAST_REST_S, PROMISED_PCT, Figures, kept_again_s
from promise_scene import PER_SECOND, record, violating
from serve_app.testing.queries import Queries

START_S = 50.0


def test_accuracy_is_over_answers_and_violations_over_all() -> None:
    rows = [
        record(0.0),
        record(1.0, late=True, variant="bad", expected_accuracy=0.7, correct=False),
        record(2.0, error="Saturated"),
        record(3.0),
    ]
    seen = Figures.of(Queries.of(rows, START_S), slo_ms=100.0)
    assert seen.violations_server_pct == pytest.approx(50.0)
    assert seen.violations_client_pct == pytest.approx(25.0)
    assert seen.failed_pct == pytest.approx(25.0)
    assert seen.accuracy_pct == pytest.approx(200 / 3)
    assert seen.variant_accuracy_pct == pytest.approx(250 / 3)
    assert seen.share_pct == pytest.approx({"good": 200 / 3, "bad": 100 / 3})
    assert seen.p50_ms == pytest.approx(20.0)
    assert not seen.kept


def test_nothing_has_no_figures() -> None:
    seen = Figures.of(Queries.of([], START_S), slo_ms=100.0)
    assert (seen.queries, seen.violations_server_pct, seen.accuracy_pct, seen.p99_ms, seen.kept) == (0, *[None] * 4)


@pytest.mark.parametrize(
    ("late", "again_s"),
    [
        ([0, 0, 0, 0, 0], 0.0),
        ([1, 1, 1, 1, 1], 0.0),
        ([50, 0, 0, 0, 0], 1.0),
        ([0, 0, 50, 0, 0], 3.0),
        ([0, 0, 0, 0, 50], None),
        ([2, 0, 0, 0, 0], 0.0),
    ],
    ids=["never", "just within the promise", "at first", "in between", "at the end", "few of all that is left"],
)
def test_a_promise_is_kept_again_from_where_on_all_that_is_left_keeps_it(late: list[int], again_s: float) -> None:
    assert kept_again_s(violating(late, START_S), START_S, START_S + len(late)) == again_s


def test_what_was_before_the_change_does_not_count() -> None:
    assert kept_again_s(violating([100, 100, 0, 0, 0], START_S), START_S + 2.0, START_S + 5.0) == 0.0


def kept_over(late: Sequence[int]) -> bool:
    return sum(late) / (PER_SECOND * len(late)) <= PROMISED_PCT / 100


@given(st.lists(st.integers(0, 4), min_size=4, max_size=9))
def test_recovery_is_the_first_second_from_which_on_every_rest_keeps_the_promise(late: list[int]) -> None:
    again_s = kept_again_s(violating(late, START_S), START_S, START_S + len(late))
    starts = range(len(late) - int(LEAST_REST_S) + 1)
    good = [second for second in starts if all(kept_over(late[later:]) for later in starts if later >= second)]
    assert again_s == (float(good[0]) if good else None)

"""The most that a worker can do."""

import pytest

from dispatch.admission.pace import Pace
from dispatch.selection.policy import Candidate

SLOW = Candidate("slow", 0.9, (0.0, 0.020, 0.030, 0.040, 0.050))
FAST = Candidate("fast", 0.7, (0.0, 0.010, 0.012, 0.014, 0.016))
FAR = Candidate(
    "far",
    0.7,
    latency_s=(0.0, 0.022, 0.024, 0.026, 0.028),
    mean_s=FAST.latency_s,
    result_s=(0.0, 0.020, 0.022, 0.024, 0.026),
)
"""A worker that is as fast, but for a way of some 10 ms; the next batch follows when it is idle."""


def test_it_is_that_of_the_fastest_variant_in_its_largest_batch() -> None:
    pace = Pace.of((SLOW, FAST), slo_s=0.1)
    assert (pace.variant, pace.batch_rows, pace.batch_s) == ("fast", 4, 0.016)
    assert pace.rate == pytest.approx(250.0)


def test_two_batches_in_a_row_are_in_time() -> None:
    assert Pace.of((FAST,), slo_s=0.0265).batch_rows == 1
    assert Pace.of((FAST,), slo_s=0.027).batch_rows == 2  # 24 ms, and a tenth in hand


@pytest.mark.parametrize(("slo_s", "rows"), [(0.015, 3), (0.005, 1)])
def test_where_two_are_not_one_is_and_where_none_is_it_has_one_row(slo_s: float, rows: int) -> None:
    assert Pace.of((SLOW, FAST), slo_s).batch_rows == rows


def test_where_not_even_one_row_is_in_time_batches_are_as_large_as_next_to_nothing_costs() -> None:
    far = Candidate("far", 0.7, (0.0, 0.120, 0.122, 0.124, 0.126, 0.140))
    slower = Candidate("slower", 0.9, (0.0, 0.125, 0.145, 0.165, 0.185, 0.205))
    pace = Pace.of((slower, far), slo_s=0.1)
    assert (pace.variant, pace.batch_rows) == ("far", 4)


def test_a_variant_that_is_slow_for_one_row_may_be_the_fastest_for_many() -> None:
    wide = Candidate("wide", 0.8, (0.0, 0.015, 0.015, 0.015, 0.015))
    pace = Pace.of((wide, FAST), slo_s=0.1)
    assert pace.variant == "wide"
    assert pace.least_s == (0.0, 0.010, 0.012, 0.014, 0.015)


def test_what_waits_runs_in_whole_batches_and_a_rest() -> None:
    pace = Pace.of((FAST,), slo_s=0.1)
    assert [pace.run_s(rows) for rows in (0, 1, 4, 9)] == pytest.approx([0.0, 0.010, 0.016, 0.042])


def test_the_last_batch_is_done_when_its_result_is_there_and_the_others_when_the_next_follows() -> None:
    pace = Pace.of((FAR,), slo_s=0.1)
    assert pace.batch_s == 0.016
    assert pace.rate == pytest.approx(250.0)
    assert [pace.run_s(rows) for rows in (0, 1, 4, 5, 9)] == pytest.approx([0.0, 0.020, 0.026, 0.036, 0.052])
    assert [pace.busy_s(rows) for rows in (0, 1, 4, 5, 9)] == pytest.approx([0.0, 0.010, 0.016, 0.026, 0.042])


def test_a_batch_that_is_back_too_late_is_not_in_time_however_soon_the_next_follows() -> None:
    assert Pace.of((FAR,), slo_s=0.0215).batch_rows == 1
    assert Pace.of((FAR,), slo_s=0.023).batch_rows == 2

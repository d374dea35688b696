"""Candidates with what was measured in them, by closed forms."""

from dataclasses import replace
from math import hypot, inf

import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.policy import Candidate

PROFILED = Candidate("v", 0.9, (0.0, 0.013, 0.016), mean_s=(0.0, 0.012, 0.014), path_s=0.002)
"""Runs of 10 and 12 ms on average."""

MEASURED = LatencyEstimate(
    run_factor=2.0, run_tail=1.5, path_s=0.004, path_tail_s=0.010, typical_run_s=0.01, run_factors={"other": 9.0}
)


def test_a_worker_is_busy_for_the_run_and_until_the_next_batch_is_there() -> None:
    # runs of 20 and 24 ms that vary by 20 and 24: a quarter of that is longer than the way, so results are waited for
    uneven = replace(MEASURED, run_tail=2.0)
    corrected = uneven.corrected(PROFILED)
    assert corrected.mean_s == pytest.approx((0.0, 0.024, 0.028))
    assert corrected.follow_s == (0.0, inf, inf)
    assert (corrected.variant, corrected.accuracy) == ("v", 0.9)
    assert uneven.busy_s(0.010) == pytest.approx(0.024)


def test_the_next_batch_follows_while_the_result_is_on_its_way() -> None:
    even = LatencyEstimate(run_factor=2.0, path_s=0.010, path_tail_s=0.015, run_tail=1.05)
    # a tenth of the way is longer than a quarter of what lies between mean and tail of the run, 0.25 and 0.3 ms
    corrected = even.corrected(PROFILED)
    assert corrected.mean_s == corrected.follow_s == pytest.approx((0.0, 0.021, 0.025))
    assert corrected.done_s == corrected.result_s == pytest.approx((0.0, 0.030, 0.034))
    assert corrected.latency_s == pytest.approx((0.0, 0.030 + hypot(0.001, 0.005), 0.034 + hypot(0.0012, 0.005)))
    assert even.busy_s(0.010) == pytest.approx(0.021)
    uneven = replace(even, run_tail=1.8)  # a quarter of 16 and 19.2 ms
    assert uneven.corrected(PROFILED).follow_s == pytest.approx((0.0, 0.024, 0.0288))


def test_short_runs_keep_a_worker_for_half_of_run_and_way_though_the_next_batch_may_follow_sooner() -> None:
    far = LatencyEstimate(run_factor=0.1, path_s=0.010, path_tail_s=0.010)
    corrected = far.corrected(PROFILED)
    assert corrected.follow_s == pytest.approx((0.0, 0.0020, 0.0022))
    assert corrected.mean_s == pytest.approx((0.0, 0.0055, 0.0056))
    assert far.busy_s(0.010) == pytest.approx(0.0055)


def test_the_tails_of_run_and_way_add_up_as_independent_spreads_do() -> None:
    expected = (0.0, 0.024 + hypot(0.010, 0.006), 0.028 + hypot(0.012, 0.006))
    assert MEASURED.corrected(PROFILED).latency_s == pytest.approx(expected)
    assert MEASURED.tail_s(0.010) == pytest.approx(expected[1])


def test_a_variant_has_its_own_factor_where_it_is_known() -> None:
    own = LatencyEstimate(run_factor=2.0, path_s=0.004, path_tail_s=0.004, run_factors={"v": 3.0})
    assert own.corrected(PROFILED).mean_s == pytest.approx((0.0, 0.0304, 0.0364))
    assert own.corrected(PROFILED).latency_s == pytest.approx((0.0, 0.034, 0.040)), "nothing varies"

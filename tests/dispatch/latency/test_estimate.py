"""Candidates with what was measured in them, by closed forms."""

from math import hypot

import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.policy import Candidate

PROFILED = Candidate("v", 0.9, (0.0, 0.013, 0.016), mean_s=(0.0, 0.012, 0.014), path_s=0.002)
"""Runs of 10 and 12 ms on average."""

MEASURED = LatencyEstimate(
    run_factor=2.0, run_tail=1.5, path_s=0.004, path_tail_s=0.010, typical_run_s=0.01, run_factors={"other": 9.0}
)


def test_the_mean_is_the_factor_times_the_profiled_run_and_the_way() -> None:
    corrected = MEASURED.corrected(PROFILED)
    assert corrected.mean_s == pytest.approx((0.0, 0.024, 0.028))
    assert corrected.path_s == 0.004
    assert (corrected.variant, corrected.accuracy) == ("v", 0.9)
    assert MEASURED.mean_s(0.010) == pytest.approx(0.024)


def test_the_tails_of_run_and_way_add_up_as_independent_spreads_do() -> None:
    expected = (0.0, 0.024 + hypot(0.010, 0.006), 0.028 + hypot(0.012, 0.006))
    assert MEASURED.corrected(PROFILED).latency_s == pytest.approx(expected)
    assert MEASURED.tail_s(0.010) == pytest.approx(expected[1])


def test_a_variant_has_its_own_factor_where_it_is_known() -> None:
    own = LatencyEstimate(run_factor=2.0, path_s=0.004, path_tail_s=0.004, run_factors={"v": 3.0})
    assert own.corrected(PROFILED).mean_s == pytest.approx((0.0, 0.034, 0.040))
    assert own.corrected(PROFILED).latency_s == pytest.approx((0.0, 0.034, 0.040)), "nothing varies"


def test_corrected_candidates_do_not_lose_what_the_profile_says_of_their_runs() -> None:
    nothing_else = LatencyEstimate(path_s=0.002, path_tail_s=0.002)
    assert nothing_else.corrected(PROFILED).runs_s == pytest.approx(PROFILED.runs_s)

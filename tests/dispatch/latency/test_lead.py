"""How far ahead batches are launched, by hand."""

from math import inf

import pytest

from dispatch.latency.estimator import LatencyEstimator
from dispatch.latency.lead import LEAD, NO_SPARE, SPARE, VARYING, cycle_s, gap_s, lead_at
from dispatch.selection.policy import Candidate

VARIANT = Candidate("v", 0.9, (0.0, 0.030), path_s=0.010)


def test_batches_follow_less_far_ahead_where_cores_have_little_to_spare_and_not_at_all_where_they_have_nothing() -> (
    None
):
    assert lead_at(0.0) == lead_at(SPARE) == LEAD
    assert lead_at((SPARE + NO_SPARE) / 2) == pytest.approx(LEAD / 2)
    assert lead_at(NO_SPARE) == lead_at(1.0) == 0.0


def test_the_gap_is_what_is_left_of_the_way_what_runs_vary_by_or_all_of_the_way() -> None:
    assert gap_s(0.010, 0.020, 1.0, 0.9) == pytest.approx(0.001)
    assert gap_s(0.010, 0.020, 1.4, 0.9) == pytest.approx(VARYING * 0.008)
    assert gap_s(0.010, 0.200, 1.4, 0.9) == 0.010
    assert gap_s(0.010, 0.020, 1.0, 0.0) == 0.010


def test_where_the_run_is_far_shorter_than_the_way_the_third_batch_waits_for_the_first_to_be_back() -> None:
    assert cycle_s(0.010, 0.020, 0.001) == pytest.approx(0.021)
    assert cycle_s(0.010, 0.002, 0.001) == pytest.approx(0.006), "two in 12 ms, not four"
    assert cycle_s(0.010, 0.002, 0.010) == pytest.approx(0.012)


def test_an_estimator_that_is_told_to_wait_for_results_says_so_with_its_next_estimate() -> None:
    estimator = LatencyEstimator(0.010)
    assert estimator.estimate("w").corrected(VARIANT).follow_s[1] < inf
    for number in range(50):
        estimator.on_batch("w", VARIANT, 1, 0.020, 0.030, 0.0, number * 0.2)
    assert estimator.estimate("w").corrected(VARIANT).follow_s[1] == pytest.approx(0.020 + 0.001, rel=0.1)
    estimator.lead = 0.0
    estimator.on_batch("w", VARIANT, 1, 0.020, 0.030, 0.0, 10.2)
    corrected = estimator.estimate("w").corrected(VARIANT)
    assert corrected.follow_s == (0.0, inf)
    assert corrected.mean_s[1] == pytest.approx(0.030, rel=0.05)
    assert estimator.estimate("new").lead == 0.0

"""Corrections of profiles: bins against their edges, factors against formulas and percentiles of numpy."""

import json
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.demand.profile_drift import BIN_COUNT, ProfileDrift, bin_of, corrected
from autoscaler_scene import SEEDS
from dispatch.selection.policy import Candidate


def counts_of(*ratios: float) -> tuple[int, ...]:
    return tuple(int(n) for n in np.bincount([bin_of(ratio) for ratio in ratios], minlength=BIN_COUNT))


def upper_edge(ratio: float) -> float:
    return float(2.0 ** (-3 + (bin_of(ratio) + 1) / 8))


# -- bins -----------------------------------------------------------------------------------------------------


@given(st.floats(min_value=2.0**-2.999, max_value=2.0**2.999))
def test_a_ratio_lies_between_the_edges_of_its_bin(ratio: float) -> None:
    edges = 2.0 ** (-3 + np.arange(BIN_COUNT + 1) / 8)
    assert edges[bin_of(ratio)] * (1 - 1e-12) <= ratio <= edges[bin_of(ratio) + 1] * (1 + 1e-12)


def test_the_ends_are_open() -> None:
    assert [bin_of(ratio) for ratio in (-1.0, 0.0, 1e-9, 0.125)] == [0] * 4
    assert [bin_of(ratio) for ratio in (7.99, 8.0, 1e9, inf)] == [BIN_COUNT - 1] * 4
    assert BIN_COUNT == 48


# -- factors --------------------------------------------------------------------------------------------------


def test_nothing_known_corrects_nothing() -> None:
    drift = ProfileDrift()
    assert (drift.factor("gpu", 5.0), drift.evidence("gpu", 5.0)) == (1.0, 0.0)


@settings(max_examples=80, derandomize=True)
@given(SEEDS)
def test_with_much_evidence_it_is_the_95th_percentile_to_within_a_bin(rng: np.random.Generator) -> None:
    ratios = np.clip(rng.lognormal(rng.uniform(-0.5, 0.8), rng.uniform(0.02, 0.3), 5000), 0.52, 3.9)
    drift = ProfileDrift(prior=0.0, deadband=0.0)
    drift.on_counts("v", counts_of(*ratios), 0.0)
    expected = np.quantile(ratios, 0.95, method="inverted_cdf")
    assert expected * 2 ** (-1 / 8) <= drift.factor("v", 0.0) <= expected * 2 ** (1 / 8)


def test_within_a_bin_batches_are_taken_as_even() -> None:
    drift = ProfileDrift(prior=0.0, deadband=0.0)
    drift.on_counts("v", counts_of(*[2.01] * 100), 0.0)
    assert drift.factor("v", 0.0) == pytest.approx(2.0 ** (1 + 0.95 / 8))


def test_few_batches_are_shrunk_towards_no_drift_in_log_space() -> None:
    drift = ProfileDrift(deadband=0.0)
    drift.on_counts("v", counts_of(*[2.01] * 20), 0.0)
    assert drift.factor("v", 0.0) == pytest.approx((2.0 ** (1 + 0.95 / 8)) ** (20 / 40))


def test_evidence_is_worth_half_after_every_half_life_and_the_newer_wins() -> None:
    drift = ProfileDrift(half_life_s=10.0, prior=0.0, deadband=0.0)
    drift.on_counts("v", counts_of(*[1.0] * 64), 0.0)
    assert drift.evidence("v", 20.0) == pytest.approx(16.0)
    drift.on_counts("v", counts_of(*[2.01] * 16), 20.0)
    assert drift.evidence("v", 20.0) == pytest.approx(32.0)
    assert drift.evidence("v", 30.0) == pytest.approx(16.0)
    assert drift.factor("v", 30.0) == pytest.approx(2.0 ** (1 + 0.9 / 8))  # 0.45 of the upper half of 0.5


def test_without_news_a_factor_fades() -> None:
    drift = ProfileDrift(half_life_s=10.0)
    drift.on_counts("v", counts_of(*[3.0] * 1000), 0.0)
    factors = [drift.factor("v", now_s) for now_s in (0.0, 50.0, 100.0, 300.0)]
    assert factors == sorted(factors, reverse=True)
    assert factors[0] > 2.9
    assert 1.0 <= factors[-1] < 1.1, "what is left is less than the deadband"
    assert drift.factor("v", 1e9) == factors[-1]


def test_factors_are_bounded() -> None:
    drift = ProfileDrift(least=0.8, most=1.5)
    drift.on_counts("slow", counts_of(*[8.0] * 1000), 0.0)
    drift.on_counts("fast", counts_of(*[0.2] * 1000), 0.0)
    assert (drift.factor("slow", 0.0), drift.factor("fast", 0.0)) == (1.5, 0.8)


def test_small_changes_are_not_given_out_and_do_not_add_up_unseen() -> None:
    drift = ProfileDrift(prior=0.0, deadband=0.3)
    drift.on_counts("v", counts_of(*[1.2] * 100), 0.0)
    assert drift.factor("v", 0.0) == 1.0
    drift.on_counts("v", counts_of(*[1.4] * 10_000), 0.0)
    given_out = drift.factor("v", 0.0)
    assert given_out == pytest.approx(upper_edge(1.4), rel=0.02)
    drift.on_counts("v", counts_of(*[1.7] * 1_000_000), 0.0)
    assert drift.factor("v", 0.0) == given_out, "less than 30% above what was given out last"
    drift.on_counts("v", counts_of(*[2.0] * 1_000_000), 0.0)
    assert drift.factor("v", 0.0) == pytest.approx(upper_edge(2.0), rel=0.02)


def test_keys_do_not_share_what_they_know() -> None:
    drift = ProfileDrift()
    drift.on_counts(("gpu", "v"), counts_of(*[3.0] * 1000), 0.0)
    assert drift.factor(("cpu", "v"), 0.0) == 1.0


def test_counts_that_come_out_of_order_do_not_turn_time_back() -> None:
    drift = ProfileDrift(half_life_s=10.0)
    drift.on_counts("v", counts_of(1.0, 1.0), 10.0)
    drift.on_counts("v", counts_of(1.0, 1.0), 5.0)
    assert drift.evidence("v", 10.0) == pytest.approx(4.0)
    assert drift.evidence("v", 20.0) == pytest.approx(2.0)


def test_counts_of_other_bins_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3 bins counted for 'v'; give 48"):
        ProfileDrift().on_counts("v", (1, 2, 3), 0.0)


# -- records --------------------------------------------------------------------------------------------------


def test_a_record_goes_through_json_and_on_from_its_instant() -> None:
    drift = ProfileDrift(half_life_s=10.0)
    drift.on_counts(("gpu", "v"), counts_of(*[3.0] * 100), 0.0)
    drift.on_counts("gpu", counts_of(*[0.6] * 100), 0.0)
    before = {key: drift.factor(key, 10.0) for key in (("gpu", "v"), "gpu")}
    record = json.loads(json.dumps(drift.to_record(10.0)))
    again = ProfileDrift.from_record(record, 5000.0, half_life_s=10.0)
    assert {key: again.factor(key, 5000.0) for key in before} == pytest.approx(before)
    assert again.evidence("gpu", 5010.0) == pytest.approx(drift.evidence("gpu", 20.0))
    assert again.to_record(5000.0) == record


def test_the_factor_given_out_last_is_part_of_the_record() -> None:
    drift = ProfileDrift(prior=0.0)
    drift.on_counts("v", counts_of(*[1.5] * 100), 0.0)
    given_out = drift.factor("v", 0.0)
    drift.on_counts("v", counts_of(*[1.55] * 10_000), 0.0)
    assert ProfileDrift.from_record(drift.to_record(0.0), 0.0, prior=0.0).factor("v", 0.0) == given_out


def test_a_record_of_other_bins_is_left_out() -> None:
    record = {"keys": [{"key": "v", "counts": [1.0, 2.0], "settled": 2.0}]}
    assert ProfileDrift.from_record(record, 0.0).factor("v", 0.0) == 1.0


# -- candidates -----------------------------------------------------------------------------------------------


def test_a_corrected_candidate_stretches_the_run_and_not_the_way() -> None:
    cut = Candidate("v", 0.9, (0.0, 0.011, 0.021))
    found = corrected(cut, (0.0, 0.01, 0.02, 0.03), 1.5, 0.002)
    assert (found.variant, found.accuracy) == ("v", 0.9)
    assert found.latency_s == pytest.approx((0.0, 0.017, 0.032))
    assert found.latency_s[0] == 0.0


def test_a_corrected_candidate_is_followed_before_its_result_where_batches_are_launched_ahead() -> None:
    cut = Candidate("v", 0.9, (0.0, 0.011, 0.021))
    profiled_s = (0.0, 0.01, 0.02)
    assert corrected(cut, profiled_s, 1.5, 0.002, lead=0.5).cycle_s == pytest.approx((0.0, 0.016, 0.031))
    assert corrected(cut, profiled_s, 1.5, 0.002).cycle_s == pytest.approx((0.0, 0.017, 0.032))
    assert corrected(cut, profiled_s, 0.1, 0.009, lead=0.9).cycle_s == pytest.approx((0.0, 0.005, 0.0055)), (
        "two at once"
    )


def test_a_profile_that_ends_before_the_batches_do_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'v' has a profile up to 1 rows and batches of 2"):
        corrected(Candidate("v", 0.9, (0.0, 0.01, 0.02)), (0.0, 0.01), 1.0, 0.0)

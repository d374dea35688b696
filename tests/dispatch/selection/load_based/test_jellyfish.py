"""Jellyfish+ by hand."""

from math import inf

import pytest

from dispatch.selection.load_based.jellyfish import jellyfish_plus
from dispatch.selection.policy import Candidate

FAST = Candidate("fast", 0.7, (0.0, 0.010, 0.014, 0.018, 0.030, 0.060))
SLOW = Candidate("slow", 0.9, (0.0, 0.030, 0.050, 0.090))
TOO_SLOW = Candidate("too slow", 0.95, (0.0, 0.050))


def test_throughput_is_the_mean_batch_over_its_mean_time_summed_over_the_workers() -> None:
    slow, fast, beyond = jellyfish_plus((FAST, SLOW), 0.1, 10).rungs
    assert (slow.variant, slow.max_rows) == ("slow", 2)
    assert slow.below_qps == pytest.approx(10 * (1 + 2) / (0.030 + 0.050))  # 375 queries/s
    assert (fast.variant, fast.max_rows) == ("fast", 4)
    assert fast.below_qps == pytest.approx(10 * (1 + 2 + 3 + 4) / (0.010 + 0.014 + 0.018 + 0.030))
    assert (beyond.variant, beyond.max_rows, beyond.below_qps) == ("fast", 5, inf)


def test_a_variant_that_takes_half_the_objective_or_more_is_never_chosen() -> None:
    assert {rung.variant for rung in jellyfish_plus((FAST, TOO_SLOW), 0.1, 10).rungs} == {"fast"}
    assert jellyfish_plus((FAST, TOO_SLOW), 0.1001, 10).at(0.0).variant == "too slow"


def test_where_no_variant_is_fast_enough_the_fastest_serves_any_load() -> None:
    (only,) = jellyfish_plus((FAST, SLOW), 0.02, 10).rungs
    assert (only.variant, only.max_rows, only.below_qps) == ("fast", 5, inf)


def test_throughput_is_by_what_batches_take_on_average_and_their_size_by_what_nearly_all_take() -> None:
    varies = Candidate("varies", 0.9, (0.0, 0.030, 0.050, 0.090), mean_s=(0.0, 0.020, 0.030, 0.040))
    (rung, _) = jellyfish_plus((varies,), 0.1, 10).rungs
    assert rung.max_rows == 2
    assert rung.below_qps == pytest.approx(10 * (1 + 2) / (0.020 + 0.030))

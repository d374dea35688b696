"""P of Proteus, section 4: the largest batch that fits half of the objective, over its time."""

from dataclasses import replace
from math import inf

import pytest

from autoscaler.cluster.capacity import ALONE, Capacity, capacity_of, limited
from autoscaler_scene import linear
from dispatch.selection.policy import Candidate

STEPS = linear("v", 0.9, 0.010, 0.010, rows=4)  # 20, 30, 40, 50 ms


@pytest.mark.parametrize(
    ("slo_s", "rows"), [(0.039, 0), (0.040, 1), (0.059, 1), (0.060, 2), (0.099, 3), (0.1, 4), (9.0, 4)]
)
def test_the_batch_is_the_largest_that_fits_half_of_the_objective(slo_s: float, rows: int) -> None:
    capacity = capacity_of(STEPS, slo_s)
    if not rows:
        assert capacity is None
        assert limited(STEPS, slo_s) is None
    else:
        assert capacity == Capacity(rows, pytest.approx(rows / (0.010 + 0.010 * rows)))
        cut = limited(STEPS, slo_s)
        assert cut is not None
        assert (cut.variant, cut.accuracy, cut.latency_s) == ("v", 0.9, STEPS.latency_s[: rows + 1])


def test_where_batches_follow_before_results_are_there_the_way_counts_once_and_in_part() -> None:
    """20 to 50 ms of which 10 ms are the way, 2 of them lost between one batch and the next."""
    follows = replace(STEPS, follow_s=(0.0, 0.012, 0.022, 0.032, 0.042), path_s=0.010)
    assert capacity_of(follows, 0.073) == Capacity(3, pytest.approx(3 / 0.032)), "40 and 32 ms"
    assert capacity_of(follows, 0.071) == Capacity(2, pytest.approx(2 / 0.022))
    assert capacity_of(follows, 0.019, waits=1) is None, "the last one takes all of its way"
    cut = limited(follows, 0.073)
    assert cut is not None
    assert cut.max_batch == 3
    assert cut.runs_s == pytest.approx((0.0, 0.010, 0.020, 0.030)), "what is run, for whoever measures the way"
    assert capacity_of(cut, 0.071) == capacity_of(follows, 0.071), "the next still follows before results are there"
    waited_for = replace(follows, follow_s=(0.0, *[inf] * 4))
    assert capacity_of(waited_for, 0.073) == capacity_of(STEPS, 0.073)


def test_smaller_batches_take_what_they_took() -> None:
    """In the mean, until the next may follow and until the result is there too."""
    varies = replace(
        STEPS,
        mean_s=(0.0, 0.012, 0.021, 0.030, 0.039),
        follow_s=(0.0, 0.012, 0.021, 0.030, 0.039),
        result_s=(0.0, 0.015, 0.025, 0.035, 0.045),
    )
    cut = limited(varies, 0.073, waits=ALONE)
    assert cut == varies, "all are in time"
    cut = limited(varies, 0.035, waits=ALONE)
    assert cut is not None
    assert (cut.latency_s, cut.mean_s) == (STEPS.latency_s[:3], varies.mean_s[:3])
    assert (cut.follow_s, cut.result_s, cut.cycle_s) == (varies.follow_s[:3], varies.result_s[:3], varies.cycle_s[:3])


def test_where_the_run_is_far_shorter_than_the_way_a_query_may_wait_for_the_first_of_two_to_be_back() -> None:
    """Run 1, way 10: launches at 0, 2, 11, 13, 22; who comes after 2 waits until 11 and is answered at 22."""
    short = Candidate("v", 0.9, (0.0, 11.0), path_s=10.0, follow_s=(0.0, 2.0))
    assert capacity_of(short, 19.9) is None
    assert capacity_of(short, 20.0) == Capacity(1, pytest.approx(2 / 11.0))


def test_rounding_does_not_cost_a_batch_that_fits_exactly() -> None:
    assert capacity_of(linear("v", 0.9, 0.0, 0.1, rows=3), 0.6) == Capacity(3, pytest.approx(10.0))


def test_more_waits_leave_room_for_smaller_batches() -> None:
    assert capacity_of(STEPS, 0.12, waits=3) == Capacity(3, pytest.approx(75.0))

"""The load to plan for, from histories reckoned by hand."""

import pytest

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.demand import MovingMaximum


def after(counts: list[dict[str, int]], window_s: float = 6.0, mean_s: float = 2.0) -> list[dict[str, float]]:
    """What is estimated after each second."""
    demand = MovingMaximum(window_s, mean_s)
    found = []
    for second, arrived in enumerate(counts):
        demand.on_statistics(Statistics(second, second + 1.0, arrived, {}))
        found.append(demand.demand_qps())
    return found


def test_nothing_is_estimated_before_the_first_report() -> None:
    assert MovingMaximum().demand_qps() == {}


def test_endpoints_named_at_the_start_are_planned_for_before_anybody_asks() -> None:
    demand = MovingMaximum(least_qps=0.2, endpoints=("a", "b"))
    assert demand.demand_qps() == {"a": 0.2, "b": 0.2}
    demand.on_statistics(Statistics(0.0, 1.0, {"a": 3}, {}))
    assert demand.demand_qps() == {"a": 3.0, "b": 0.2}


def test_it_rises_with_the_mean_and_falls_when_the_maximum_leaves_the_window() -> None:
    # means of two seconds: 10 (of one), 15, 10, 20, 25, 10, 5, 0, 0
    counts = [{"a": qps} for qps in (10, 20, 0, 40, 10, 10, 0, 0, 0)]
    expected = [10, 15, 15, 20, 25, 25, 25, 10, 5]
    assert [each["a"] for each in after(counts, window_s=3.0)] == pytest.approx(expected)


def test_the_mean_alone_is_the_estimate_where_the_window_is_one_report() -> None:
    counts = [{"a": qps} for qps in (10, 20, 0, 40)]
    assert [each["a"] for each in after(counts, window_s=1.0)] == pytest.approx([10, 15, 10, 20])


def test_a_report_longer_than_the_mean_counts_whole() -> None:
    counts = [{"a": 10}, {"a": 30}]
    assert [each["a"] for each in after(counts, window_s=1.0, mean_s=0.5)] == pytest.approx([10, 30])


def test_endpoints_have_their_own_maxima() -> None:
    counts = [{"a": 10}, {"b": 8}, {}, {"a": 2, "b": 6}]
    last = after(counts)[-1]
    assert last == pytest.approx({"a": 10, "b": 4})


def test_an_endpoint_that_nobody_asks_for_any_more_falls_to_what_keeps_it_a_worker() -> None:
    counts = [{"a": 10, "b": 5}] + [{"b": 5}] * 9
    assert after(counts)[-1]["a"] == 0.1
    assert after(counts)[-1]["b"] == pytest.approx(5)


def test_rounding_of_report_times_does_not_lengthen_the_mean() -> None:
    demand = MovingMaximum(1.0, 0.2)
    for number in range(1, 8):
        demand.on_statistics(Statistics((number - 1) * 0.1, number * 0.1, {"a": number}, {}))
    assert demand.demand_qps()["a"] == pytest.approx((6 + 7) / 0.2)

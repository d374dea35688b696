"""Reasons to plan before the interval is over."""

from dataclasses import replace

from autoscaler.cluster.observation import Statistics
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.demand.burst import BurstTrigger

TRIGGER = BurstTrigger(lull=0.2, violation_ratio=0.05, least_queries=10)


def plan(demand_qps: dict[str, float], capacity_qps: dict[str, float]) -> ClusterPlan:
    return ClusterPlan(
        demand_qps=demand_qps,
        served_qps=demand_qps,
        capacity_qps=capacity_qps,
        report=SolveReport(Status.OPTIMAL, 0.0, 0.0),
    )


def reason(
    estimate_qps: dict[str, float], arrived: dict[str, int], violated: dict[str, int] | None = None
) -> str | None:
    made = plan({"a": 100.0, "b": 50.0}, {"a": 120.0, "b": 60.0})
    return TRIGGER.reason(Statistics(0.0, 1.0, arrived, violated or {}), made, estimate_qps)


def test_what_the_plan_has_room_for_is_no_reason() -> None:
    assert reason({"a": 120.0, "b": 60.0}, {"a": 130, "b": 70}) is None


def test_more_than_there_is_room_for_is_one() -> None:
    assert reason({"a": 100.0, "b": 61.0}, {"a": 100, "b": 61}) == "b has 61 queries/s, the plan has room for 60"


def test_a_plan_with_no_room_to_speak_of_is_not_asked_for_again_for_next_to_nothing() -> None:
    full = plan({"a": 100.0}, {"a": 100.0})
    now = Statistics(0.0, 1.0, {"a": 100}, {})
    assert TRIGGER.reason(now, full, {"a": 105.0}) is None
    assert TRIGGER.reason(now, full, {"a": 106.0}) == "a has 106 queries/s, the plan has room for 105"


def test_where_fallback_variants_answer_it_chance_is_no_reason() -> None:
    made = replace(plan({"a": 100.0}, {"a": 100.0}), burst_qps={"a": 800.0})
    now = Statistics(0.0, 1.0, {"a": 100}, {})
    assert TRIGGER.reason(now, made, {"a": 115.0}) is None
    assert TRIGGER.reason(now, made, {"a": 116.0}) == "a has 116 queries/s, the plan has room for 105"
    assert TRIGGER.reason(now, replace(made, burst_qps={"a": 110.0}), {"a": 115.0}) is not None


def test_an_endpoint_that_the_plan_does_not_know_has_no_room() -> None:
    assert reason({"a": 100.0, "b": 50.0, "c": 10.0}, {"c": 10}) == "c has 10 queries/s, the plan has room for 0"


def test_a_handful_of_queries_says_nothing() -> None:
    assert reason({"a": 500.0, "b": 50.0}, {"a": 9}) is None
    assert reason({"a": 110.0, "b": 50.0}, {"a": 9}, {"a": 9}) is None


def test_who_violates_too_much_is_strained() -> None:
    def strained(arrived: dict[str, int], violated: dict[str, int]) -> dict[str, float]:
        return TRIGGER.strained(Statistics(0.0, 1.0, arrived, violated))

    assert strained({"a": 100, "b": 50}, {"a": 6}) == {"a": 0.06}
    assert strained({"a": 100, "b": 50}, {"a": 5}) == {}
    assert strained({"a": 9, "b": 10}, {"a": 9, "b": 1}) == {"b": 0.1}  # a handful says nothing


def test_much_less_in_all_is_a_reason() -> None:
    assert reason({"a": 70.0, "b": 50.0}, {"a": 70, "b": 50}) is None
    assert reason({"a": 69.0, "b": 50.0}, {"a": 69, "b": 50}) == "119 queries/s come, the plan is for 150"


def test_a_plan_for_nothing_is_kept_while_nothing_comes() -> None:
    assert TRIGGER.reason(Statistics(0.0, 1.0, {}, {}), plan({}, {}), {}) is None

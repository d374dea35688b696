"""Large clusters, little time, and what a person may get wrong."""

from math import inf, nan
from typing import Any

import pytest

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.plan import ClusterPlan, NoPlan, Status
from autoscaler.planners.proteus.options import ALONE, BEFORE_FALLBACKS, ProteusOptions, Room
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import cluster, endpoint, even, held, observed, workers
from benchmarks.proteus.saturation import saturation_qps
from benchmarks.proteus.synthetic import synthetic
from benchmarks.proteus.testbed import zipf
from catalog.errors import ConfigError
from plan_checker import broken

LARGE = synthetic(200, 160, 6, 4, seed=3)
MIX = zipf([each.name for each in LARGE.cluster.endpoints])
MOST_QPS = saturation_qps(LARGE, MIX)
SMALL = cluster(endpoint("a", even("fast", 0.5, 40.0), even("slow", 1.0, 10.0)))


def large(part: float) -> dict[str, float]:
    return {name: share * part * MOST_QPS for name, share in MIX.items()}


@pytest.mark.parametrize("part", [0.02, 0.6, 0.98, 1.3])
def test_a_large_plan_keeps_every_equation_within_its_gap(part: float) -> None:
    observation = observed(large(part), LARGE.workers)
    plan = ProteusPlanner(LARGE.cluster, ProteusOptions(gap=0.01, limit_s=60.0)).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(LARGE.cluster, observation, plan) == []
    assert plan.report.status is Status.OPTIMAL
    assert plan.report.gap is not None
    assert 0 <= plan.report.gap <= 0.01 + 1e-6
    assert -1e-5 <= plan.shed <= max(0.0, 1 - 1 / part) + 0.01
    assert (plan.shed > 0.01) == (part > 1)


@pytest.mark.parametrize("limit_s", [1e-9, 1e-3, 0.02, 0.1])
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_too_little_time_gives_a_valid_plan_with_its_gap_or_none(solver: str, limit_s: float) -> None:
    observation = observed(large(0.9), LARGE.workers)
    plan = ProteusPlanner(LARGE.cluster, ProteusOptions(gap=0.0, limit_s=limit_s, solver=solver)).plan(observation)
    if isinstance(plan, NoPlan):
        assert (plan.report.status, plan.report.gap) == (Status.NO_ANSWER, None)
        assert plan.report.explanation[0].startswith(f"No answer within {limit_s:g} s")
    else:
        assert broken(LARGE.cluster, observation, plan) == []
        assert plan.report.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert plan.report.gap is not None
        assert 0 <= plan.report.gap < 1


@pytest.mark.parametrize("limit_s", [1e-9, 1e-4, 1e-3])
def test_a_small_problem_has_a_gap_when_the_time_is_up_before_its_last_stage(limit_s: float) -> None:
    observation = observed({"a": 45.0}, workers(cpu=3))
    plan = ProteusPlanner(SMALL, ProteusOptions(limit_s=limit_s)).plan(observation)
    if isinstance(plan, ClusterPlan):
        assert broken(SMALL, observation, plan) == []
        assert plan.report.gap is not None
        assert 0 <= plan.report.gap < 1


def test_the_same_observation_has_the_same_plan() -> None:
    observation = observed(large(0.6), LARGE.workers)
    one, other = (
        ProteusPlanner(LARGE.cluster, ProteusOptions(gap=0.01, limit_s=60.0)).plan(observation) for _ in range(2)
    )
    assert isinstance(one, ClusterPlan)
    assert isinstance(other, ClusterPlan)
    assert (one.held, one.shares) == (other.held, other.shares)


def test_a_plan_made_again_from_where_it_led_changes_nothing() -> None:
    planner = ProteusPlanner(LARGE.cluster, ProteusOptions(gap=0.01, limit_s=60.0))
    first = planner.plan(observed(large(0.6), LARGE.workers))
    assert isinstance(first, ClusterPlan)
    again = planner.plan(observed(large(0.6), LARGE.workers, first.held))
    assert isinstance(again, ClusterPlan)
    assert again.held == first.held


def test_nobody_is_starved_for_the_gap() -> None:
    # 0.03% of the load, less than the gap; a worker's place can be had for it.
    both = cluster(endpoint("much", even("m", 0.9, 100.0)), endpoint("little", even("l", 0.9, 100.0)))
    observation = observed({"much": 1000.0, "little": 0.3}, workers(cpu=11))
    for gap in (0.0, 1e-3, 0.05):
        plan = ProteusPlanner(both, ProteusOptions(deviations=0.0, tolerance=0.0, gap=gap)).plan(observation)
        assert isinstance(plan, ClusterPlan)
        assert plan.served_qps == pytest.approx({"much": 1000.0, "little": 0.3}, rel=1e-5)


@pytest.mark.parametrize("little", [1e-12, 1e-9, 1e-7, 1e-5, 1e-3])
def test_the_least_demand_has_a_worker_where_there_is_one(little: float) -> None:
    both = cluster(endpoint("much", even("m", 0.9, 100.0)), endpoint("little", even("l", 0.9, 1e4)))
    observation = observed({"much": 150.0, "little": little}, workers(cpu=3))
    plan = ProteusPlanner(both).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(both, observation, plan) == []
    assert plan.served_qps == pytest.approx({"much": 150.0, "little": little}, rel=1e-5)


def test_an_endpoint_without_a_variant_in_time_costs_the_others_nothing() -> None:
    late = cluster(endpoint("a", even("slow", 1.0, 10.0)), endpoint("late", even("l", 1.0, 10.0), slo_s=0.1))
    for lost_qps in (1e-9, 1e-4, 1.0, 1000.0):
        plan = ProteusPlanner(late).plan(observed({"a": 19.0, "late": lost_qps}, workers(cpu=2)))
        assert isinstance(plan, ClusterPlan)
        assert plan.served_qps == pytest.approx({"a": 19.0, "late": 0.0}, rel=1e-5)
        assert plan.shares["late"] == {}


def test_an_endpoint_without_a_variant_in_time_leaves_the_others_their_headroom() -> None:
    options = ProteusOptions(headroom=1.5, tolerance=0.0, use_idle_workers=False)
    alone = cluster(endpoint("a", even("fast", 0.5, 40.0), even("slow", 1.0, 10.0)))
    late = Cluster((*alone.endpoints, endpoint("late", even("l", 1.0, 10.0), slo_s=0.1)), alone.pools)
    with_late, without = (
        ProteusPlanner(each, options).plan(observed(demand_qps, workers(cpu=4)))
        for each, demand_qps in ((late, {"a": 30.0, "late": 5.0}), (alone, {"a": 30.0}))
    )
    assert isinstance(with_late, ClusterPlan)
    assert isinstance(without, ClusterPlan)
    assert with_late.capacity_qps == {**without.capacity_qps, "late": 0.0}
    assert with_late.capacity_qps["a"] > 45.0
    assert with_late.held == without.held
    first, *others = with_late.report.explanation
    assert first.startswith("14.3% of 35 queries/s are shed, no plan sheds less than 14.3%: late 100.0%. The other")
    assert others[1] == "late is not served: no variant of it is in time behind another and fits a worker's memory."


@pytest.mark.parametrize("qps", [1e6, 1e7, 1e9, 1e12])
def test_a_demand_beyond_all_reason_still_keeps_every_worker_busy(qps: float) -> None:
    plan = ProteusPlanner(SMALL).plan(observed({"a": qps}, workers(cpu=3)))
    assert isinstance(plan, ClusterPlan)
    assert list(plan.held.values()) == [{"fast"}] * 3
    assert plan.served_qps["a"] == pytest.approx(120.0, rel=1e-4)


def test_overload_may_be_shared_evenly_instead_of_starving_expensive_queries() -> None:
    both = cluster(endpoint("cheap", even("c", 0.9, 100.0)), endpoint("dear", even("d", 0.9, 10.0)))
    observation = observed({"cheap": 500.0, "dear": 50.0}, workers(cpu=5))
    most, evenly = (
        ProteusPlanner(both, ProteusOptions(overload=overload)).plan(observation) for overload in ("most", "even")
    )
    assert isinstance(most, ClusterPlan)
    assert isinstance(evenly, ClusterPlan)
    assert most.served_qps == pytest.approx({"cheap": 500.0, "dear": 0.0}, rel=1e-4)
    # Two workers each and the fifth for whom it serves more: 200 and 20 of 500 and 50 are served at least.
    assert evenly.served_qps == pytest.approx({"cheap": 300.0, "dear": 20.0}, rel=1e-4)
    assert broken(both, observation, evenly) == []
    assert evenly.report.explanation[0] == (
        "41.8% of 550 queries/s are shed, no plan sheds less than 9.1%: cheap 40.0%, dear 60.0%. "
        "Every endpoint that can be served is, to 40.0% at least."
    )


@pytest.mark.parametrize("demand_qps", [{}, {"a": 0.0}])
def test_where_nothing_is_asked_for_workers_keep_what_they_hold(demand_qps: dict[str, float]) -> None:
    plan = ProteusPlanner(SMALL).plan(observed(demand_qps, workers(cpu=2), held(cpu_1="slow")))
    assert isinstance(plan, ClusterPlan)
    assert plan.held == {"cpu-1": {"slow"}}
    assert plan.shed == 0.0
    assert plan.effective_accuracy is None
    assert plan.report.explanation[0] == "Nothing is asked for: no worker is needed."


def test_workers_that_nobody_needs_let_go_of_what_was_withdrawn() -> None:
    plan = ProteusPlanner(SMALL).plan(observed({}, workers(cpu=2), held(cpu_0="old", cpu_1="slow old")))
    assert isinstance(plan, ClusterPlan)
    assert plan.held == {"cpu-1": {"slow"}}


def test_without_workers_all_is_shed() -> None:
    plan = ProteusPlanner(SMALL).plan(observed({"a": 10.0}, {}))
    assert isinstance(plan, ClusterPlan)
    assert (plan.held, plan.shed, plan.pool_sizes) == ({}, 1.0, {"cpu": 0})


def test_workers_of_no_pool_are_left_out() -> None:
    there = {**workers(cpu=1), "x": "tpu"}
    plan = ProteusPlanner(SMALL).plan(observed({"a": 50.0}, there, {"x": frozenset({"slow"})}))
    assert isinstance(plan, ClusterPlan)
    assert set(plan.held) == {"cpu-0"}
    assert plan.pool_sizes == {"cpu": 1}


@pytest.mark.parametrize("qps", [nan, inf, -1.0])
def test_a_demand_that_is_no_number_from_0_is_refused(qps: float) -> None:
    with pytest.raises(ValueError, match=f"'a' is {qps:g} queries/s"):
        ProteusPlanner(SMALL).plan(observed({"a": qps}, workers(cpu=1)))


def test_a_demand_of_an_unknown_endpoint_is_refused() -> None:
    with pytest.raises(ValueError, match="'b', which is not there; there are a"):
        ProteusPlanner(SMALL).plan(observed({"a": 1.0, "b": 1.0}, workers(cpu=1)))


@pytest.mark.parametrize(
    ("options", "room"),
    [
        ({}, ALONE),
        ({"fallback": 4}, BEFORE_FALLBACKS),
        ({"fallback": 4, "deviations": 0.5}, BEFORE_FALLBACKS._replace(deviations=0.5)),
        ({"tolerance": 0.0}, ALONE._replace(tolerance=0.0)),
        ({"fallback": 4, "room_down_to": 1.0}, BEFORE_FALLBACKS._replace(down_to=1.0)),
    ],
)
def test_room_is_what_is_told_and_else_what_suits(options: dict[str, Any], room: Room) -> None:
    assert ProteusOptions(**options).room == room


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "gurobi"}, "solver of the planner is 'gurobi'; give one of highs, scip"),
        ({"headroom": 0.9}, "headroom of the planner is 0.9; give a number from 1"),
        ({"headroom": nan}, "headroom of the planner is nan"),
        ({"deviations": -0.1}, "deviations of the planner is -0.1; give a number from 0"),
        ({"room_down_to": 0.0}, "room_down_to of the planner is 0.0; give a number above 0 and up to 1"),
        ({"room_down_to": 1.1}, "room_down_to of the planner is 1.1"),
        ({"accuracy": "best"}, "accuracy of the planner is 'best'; give one of given, normalised"),
        ({"gap": -0.1}, "gap of the planner is -0.1; give a number from 0 and below 1"),
        ({"gap": nan}, "gap of the planner is nan"),
        ({"limit_s": 0.0}, "limit_s of the planner is 0.0; give a time above 0"),
        ({"limit_s": inf}, "limit_s of the planner is inf"),
        ({"per_worker": 3}, "per_worker of the planner is 3; give 1 or 2"),
        ({"overload": "all"}, "overload of the planner is 'all'; give one of most, even"),
        ({"per_worker": 0}, "per_worker of the planner is 0; give 1 or 2"),
        ({"price_per_point": 0.0}, "price_per_point of the planner is 0.0; give a price above 0"),
    ],
)
def test_options_that_no_plan_can_be_made_with_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace(".", r"\.")):
        ProteusOptions(**options)

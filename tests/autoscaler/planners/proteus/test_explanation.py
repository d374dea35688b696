"""What a plan says of itself is true."""

import numpy as np
import pytest
from hypothesis import given, settings
from ortools.math_opt.python import mathopt

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.placement_model import PlacementModel
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, cluster, endpoint, even, observed, some_cluster, some_observation, workers

EXACT = ProteusOptions(headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0, limit_s=60.0)
FAST_AND_SLOW = endpoint("a", even("fast", 0.5, 40.0), even("slow", 1.0, 10.0))


def words(cluster: Cluster, demand_qps: dict[str, float], options: ProteusOptions = EXACT, **counts: int) -> list[str]:
    plan = ProteusPlanner(cluster, options).plan(observed(demand_qps, workers(**counts)))
    assert isinstance(plan, ClusterPlan)
    return list(plan.report.explanation)


def test_where_the_best_variants_serve_everything_only_workers_are_counted() -> None:
    assert words(cluster(FAST_AND_SLOW), {"a": 25.0}, cpu=4) == [
        "All 25 queries/s are served, in batches that are in time behind another, with room for 0% more.",
        "cpu: 3 of 4 workers are needed.",
    ]


def test_a_pool_that_binds_has_the_price_of_another_worker() -> None:
    # One of two workers is fast: (40 x 0.5 + 10 x 1) / 50. A third would be slow: 10 of 50 queries/s gain 0.5.
    assert words(cluster(FAST_AND_SLOW), {"a": 50.0}, cpu=2) == [
        "All 50 queries/s are served, in batches that are in time behind another, with room for 0% more.",
        "a answers with 60.00% on average; its best variant in time has 100.00%.",
        "cpu: all 2 workers are needed; one more would bring about 13 points of accuracy.",
    ]


def test_the_shadow_price_is_what_the_relaxation_gains_with_one_worker_more() -> None:
    columns = ProteusPlanner(cluster(FAST_AND_SLOW)).columns
    gained = []
    for count in (2, 3):
        model = PlacementModel(columns, {"cpu": count}, {"a": 50.0}, integer=False)
        model.serve_all(1.0)
        model.model.maximize(model.total_accuracy)
        gained.append(mathopt.solve(model.model, mathopt.SolverType.GLOP).objective_value() / 50.0 * 100)
    assert gained[1] - gained[0] == pytest.approx(40 / 3)


def test_what_is_shed_is_said_with_whom_and_what_is_proven() -> None:
    both = cluster(endpoint("a", even("v", 0.9, 10.0)), endpoint("b", even("w", 0.5, 5.0)))
    assert words(both, {"a": 20.0, "b": 20.0}, cpu=1) == [
        "75.0% of 40 queries/s are shed, no plan sheds less than 75.0%: a 50.0%, b 100.0%.",
        "cpu: all 1 workers are needed; one more would bring about 25 points more of the demand served.",
    ]


def test_an_endpoint_that_cannot_be_served_is_named_with_the_reason() -> None:
    late = cluster(FAST_AND_SLOW, endpoint("late", even("l", 1.0, 10.0), slo_s=0.1))
    assert words(late, {"a": 5.0, "late": 5.0}, cpu=1)[:2] == [
        "50.0% of 10 queries/s are shed, no plan sheds less than 50.0%: late 100.0%. "
        "The other endpoints are served, with room for 0% more.",
        "late is not served: no variant of it is in time behind another and fits a worker's memory.",
    ]
    elsewhere = Cluster(
        (Endpoint("a", 1.0, {"cpu": (even("v", 0.5, 10.0),), "gpu": (even("w", 1.0, 10.0),)}),),
        (Pool("cpu"), Pool("gpu")),
    )
    assert words(elsewhere, {"a": 5.0}, cpu=2) == [  # w is no choice where there is no gpu
        "All 5 queries/s are served, in batches that are in time behind another, with room for 0% more.",
        "cpu: 1 of 2 workers are needed.",
    ]


def test_a_worker_for_each_of_two_endpoints_is_not_said_to_help_nobody() -> None:
    both = cluster(endpoint("a", even("v", 0.9, 10.0)), endpoint("b", even("w", 0.9, 10.0)))
    assert words(both, {"a": 1.0, "b": 1.0}, cpu=1)[-1] == (
        "cpu: all 1 workers are needed; one more would bring about 50 points more of the demand served."
    )


@settings(max_examples=40, derandomize=True)
@given(SEEDS)
def test_no_worker_more_brings_more_than_is_said_where_workers_could_be_divided(rng: np.random.Generator) -> None:
    made = some_cluster(rng, device_types=2, endpoints=2)
    observation = some_observation(rng, made, most_workers=2, least_qps=1e-3)
    planner = ProteusPlanner(made, EXACT)
    plan = planner.plan(observation)
    assert isinstance(plan, ClusterPlan)
    total_qps = sum(plan.demand_qps.values())
    there = list(observation.devices.values())
    for pool in made.pools:
        said = [line for line in plan.report.explanation if line.startswith(f"{pool.device}: all")]
        if said:
            counts = {other.device: there.count(other.device) for other in made.pools}
            relaxed = [
                _relaxed(
                    planner,
                    {**counts, pool.device: counts[pool.device] + more},
                    plan.demand_qps,
                    plan.report.explanation[0].startswith("All"),
                )
                for more in (0, 1)
            ]
            points = float(said[0].split("about ")[1].split()[0]) if "about" in said[0] else 0.0
            assert (relaxed[1] - relaxed[0]) / total_qps * 100 <= points * 1.06 + 1e-4  # two figures are said


def _relaxed(planner: ProteusPlanner, counts: dict[str, int], demand_qps: dict[str, float], serves_all: bool) -> float:
    model = PlacementModel(planner.columns, counts, demand_qps, integer=False)
    if serves_all:
        model.serve_all(1 - 1e-6)
    model.model.maximize(model.total_accuracy if serves_all else model.total_served)
    return float(mathopt.solve(model.model, mathopt.SolverType.GLOP).objective_value())

"""Room for queries at random is bought with accuracy, down to the floor and no further."""

from collections.abc import Collection
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.capacity import capacity_of
from autoscaler.cluster.cluster import Endpoint
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler.planners.proteus.room import MOST_DEVIATIONS
from autoscaler_scene import SEEDS, cluster, endpoint, even, observed, some_cluster, some_observation, workers

EXACT = ProteusOptions(deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0, limit_s=60.0, use_idle_workers=False)
ONE = cluster(endpoint("a", even("fast", 0.9, 40.0), even("best", 1.0, 10.0)))


def planned(down_to: float, qps: float = 20.0, count: int = 2) -> ClusterPlan:
    options = ProteusOptions(
        deviations=0.0, tolerance=0.0, room_down_to=down_to, gap=0.0, limit_s=60.0, use_idle_workers=False
    )
    plan = ProteusPlanner(ONE, options).plan(observed({"a": qps}, workers(cpu=count)))
    assert isinstance(plan, ClusterPlan)
    return plan


def assert_same(plan: ClusterPlan, other: ClusterPlan) -> None:
    """But for how long it took."""
    assert replace(plan, report=other.report) == other


def test_without_a_floor_the_most_accurate_variants_are_filled_to_the_brim() -> None:
    plan = planned(1.0)
    assert plan.capacity_qps == pytest.approx({"a": 20.0})
    assert plan.effective_accuracy == pytest.approx(1.0)


def test_room_is_taken_until_the_floor() -> None:
    # three deviations are 3 * sqrt(20) queries/s: with one fast worker, 10 of 33.4 queries/s have the best variant
    plan = planned(0.92)
    assert plan.capacity_qps["a"] == pytest.approx(20.0 + MOST_DEVIATIONS * sqrt(20.0))
    assert plan.effective_accuracy == pytest.approx(0.9 + 0.1 * 10.0 / 33.4, abs=1e-3)
    # a quarter of that is 23.4 queries/s, and the most of what is tried that leaves 0.94
    less = planned(0.94)
    assert less.capacity_qps["a"] == pytest.approx(20.0 + MOST_DEVIATIONS / 4 * sqrt(20.0))
    assert less.effective_accuracy == pytest.approx(0.9 + 0.1 * 10.0 / 23.35, abs=1e-3)


def test_where_whole_workers_leave_no_room_above_the_floor_the_plan_stays() -> None:
    assert_same(planned(0.97), planned(1.0))


def test_a_plan_below_the_floor_stays_as_it_is() -> None:
    assert_same(planned(0.97, qps=45.0), planned(1.0, qps=45.0))


def test_demand_that_cannot_be_met_leaves_nothing_to_make_room_of() -> None:
    short = planned(0.5, qps=100.0)
    assert short.shed == pytest.approx(0.2, abs=1e-5)
    assert_same(short, planned(1.0, qps=100.0))


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_the_floor_holds_or_the_plan_is_as_without_it(rng: np.random.Generator) -> None:
    made = some_cluster(rng)
    observation = some_observation(rng, made, least_qps=0.01)
    exact, roomy = (
        ProteusPlanner(made, options).plan(observation)
        for options in (EXACT, ProteusOptions(deviations=0.0, tolerance=0.0, room_down_to=0.9, gap=0.0, limit_s=60.0))
    )
    assert isinstance(exact, ClusterPlan)
    assert isinstance(roomy, ClusterPlan)
    assert sum(roomy.served_qps.values()) == pytest.approx(sum(exact.served_qps.values()), rel=1e-4)
    for name, qps in exact.capacity_qps.items():
        assert roomy.capacity_qps[name] >= qps * (1 - 1e-4)
    best = {each.name: _best(each, set(observation.devices.values())) for each in made.endpoints}
    served_qps = sum(roomy.served_qps.values())
    if served_qps:
        floor = 0.9 * sum(best[name] * qps for name, qps in roomy.served_qps.items()) / served_qps
        assert (roomy.effective_accuracy or 0.0) >= min(floor, exact.effective_accuracy or 0.0) - 1e-4


def _best(endpoint: Endpoint, devices: Collection[str]) -> float:
    """The accuracy of the best variant in time on a worker that is there."""
    return max(
        (
            candidate.accuracy
            for device, own in endpoint.candidates.items()
            for candidate in own
            if device in devices and capacity_of(candidate, endpoint.slo_s) is not None
        ),
        default=0.0,
    )

"""Every worker scales accuracy for itself, and keeps its endpoint and its share of it."""

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.planners.baselines.sommelier import SommelierPlanner
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, cluster, endpoint, even, held, observed, some_cluster, some_observation, workers
from plan_checker import broken

BOTH = cluster(
    endpoint("a", even("a-fast", 0.5, 40.0), even("a-slow", 1.0, 10.0)),
    endpoint("b", even("b-fast", 0.6, 20.0), even("b-slow", 0.9, 5.0)),
)
HOME = {"cpu-0": ("a", 0.75), "cpu-1": ("a", 0.25), "cpu-2": ("b", 1.0)}


@pytest.mark.parametrize(
    ("a_qps", "variants"),
    [(0.0, ["a-slow", "a-slow"]), (13.3, ["a-slow", "a-slow"]), (13.4, ["a-fast", "a-slow"]), (40.1, ["a-fast"] * 2)],
)
def test_a_worker_takes_the_most_accurate_variant_for_its_own_part(a_qps: float, variants: list[str]) -> None:
    plan = SommelierPlanner(BOTH, HOME, 1.0).plan(observed({"a": a_qps}, workers(cpu=3)))
    assert plan.held == held(cpu_0=variants[0], cpu_1=variants[1], cpu_2="b-slow")
    assert plan.shares == {"a": {"cpu-0": 0.75, "cpu-1": 0.25}, "b": {"cpu-2": 1.0}}


def test_headroom_is_kept_beyond_the_present_part() -> None:
    plan = SommelierPlanner(BOTH, HOME, 1.2).plan(observed({"a": 12.0}, workers(cpu=3)))
    assert plan.held["cpu-0"] == {"a-fast"}


def test_where_no_variant_is_enough_the_fastest_serves_what_it_can() -> None:
    plan = SommelierPlanner(BOTH, HOME, 1.0).plan(observed({"a": 80.0, "b": 100.0}, workers(cpu=3)))
    assert plan.held == held(cpu_0="a-fast", cpu_1="a-fast", cpu_2="b-fast")
    assert plan.served_qps == pytest.approx({"a": 40.0 + 20.0, "b": 20.0})
    assert plan.accuracy == pytest.approx({"a": 0.5, "b": 0.6})
    assert plan.shed == pytest.approx(100 / 180)


def test_a_worker_of_two_endpoints_keeps_the_one_it_serves_most_queries_of() -> None:
    shares = {"a": {"cpu-0": 0.9, "cpu-1": 0.1}, "b": {"cpu-0": 0.2}}
    demand_qps = {"a": 10.0, "b": 100.0}
    report = SolveReport(Status.OPTIMAL, 0.0, 0.0)
    initial = ClusterPlan(
        held=held(cpu_0="v"),
        shares=shares,
        demand_qps=demand_qps,
        served_qps=demand_qps,
        capacity_qps=demand_qps,
        report=report,
    )
    planner = SommelierPlanner.after(BOTH, initial, 1.0)
    assert planner.home == {"cpu-0": ("b", 0.2), "cpu-1": ("a", 0.1)}


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_workers_keep_their_endpoint_and_share_whatever_is_asked_for(rng: np.random.Generator) -> None:
    made = some_cluster(rng)
    first = some_observation(rng, made)
    initial = ProteusPlanner(made).plan(first)
    assert initial is not None
    planner = SommelierPlanner.after(made, initial, 1.1)
    for _ in range(3):
        again = some_observation(rng, made)
        observation = observed(again.demand_qps, first.devices, initial.held)
        plan = planner.plan(observation)
        assert broken(made, observation, plan, overloaded=True) == []
        kept = {worker: (name, share) for name, own in plan.shares.items() for worker, share in own.items()}
        assert kept.items() <= dict(planner.home).items()
        assert kept == planner.home  # a worker that served an endpoint has a variant for it


def test_workers_that_are_gone_or_belong_to_no_pool_hold_nothing() -> None:
    plan = SommelierPlanner(BOTH, HOME, 1.0).plan(observed({"a": 8.0}, {"cpu-0": "cpu", "cpu-1": "tpu"}))
    assert plan.held == held(cpu_0="a-slow")
    assert plan.shares == {"a": {"cpu-0": 0.75}, "b": {}}
    assert plan.served_qps == pytest.approx({"a": 6.0, "b": 0.0})


def test_a_variant_that_does_not_fit_is_not_taken() -> None:
    small = Cluster(BOTH.endpoints, (Pool("cpu", memory_bytes=5),), {"a-slow": 6})
    plan = SommelierPlanner(small, HOME, 1.0).plan(observed({"a": 1.0}, workers(cpu=3)))
    assert plan.held["cpu-0"] == {"a-fast"}


def test_a_demand_of_an_unknown_endpoint_is_refused() -> None:
    with pytest.raises(ValueError, match="'x', which is not there"):
        SommelierPlanner(BOTH, HOME, 1.0).plan(observed({"x": 1.0}, workers(cpu=3)))

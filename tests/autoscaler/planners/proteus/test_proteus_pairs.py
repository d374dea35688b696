"""Two variants on one worker, where its memory allows (Proteus, section 7)."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, endpoint, linear, observed, some_cluster, some_observation, workers
from every_placement import best_of
from plan_checker import broken

EXACT = ProteusOptions(headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0, limit_s=60.0)
PAIRS = replace(EXACT, per_worker=2)
BOTH = (
    endpoint("a", linear("a", 0.9, 0.0, 0.1), slo_s=1.0),
    endpoint("b", linear("b", 0.8, 0.0, 0.1), slo_s=1.0),
)


def planned(cluster: Cluster, observation: Observation, options: ProteusOptions = PAIRS) -> ClusterPlan:
    plan = ProteusPlanner(cluster, options).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(cluster, observation, plan, per_worker=2) == []
    return plan


def one_worker(memory_bytes: float = 10.0) -> Cluster:
    return Cluster(BOTH, (Pool("cpu", memory_bytes),), {"a": 4, "b": 5})


@settings(max_examples=40, derandomize=True)
@given(SEEDS)
def test_no_way_to_share_workers_serves_more_or_is_more_accurate(rng: np.random.Generator) -> None:
    cluster = some_cluster(rng, device_types=2, endpoints=2, memory=True)
    observation = some_observation(rng, cluster, most_workers=1, least_qps=1e-3)
    plan = planned(cluster, observation)
    there = list(observation.devices.values())
    counts = {pool.device: there.count(pool.device) for pool in cluster.pools}
    best = best_of(cluster, counts, observation.demand_qps, per_worker=2)
    assert sum(plan.served_qps.values()) == pytest.approx(best.served_qps, rel=1e-5)
    reached = sum(plan.accuracy.get(name, 0.0) * qps for name, qps in plan.served_qps.items())
    assert reached == pytest.approx(best.value, rel=1e-5)


def test_one_worker_serves_two_endpoints_by_turns() -> None:
    observation = observed({"a": 4.0, "b": 3.0}, workers(cpu=1))
    alone, together = planned(one_worker(), observation, options=EXACT), planned(one_worker(), observation)
    assert alone.shed == pytest.approx(3 / 7, abs=1e-5)
    assert together.held == {"cpu-0": {"a", "b"}}
    assert together.shed == pytest.approx(0.0, abs=1e-5)


def test_a_pair_that_does_not_fit_the_memory_is_none() -> None:
    assert len(planned(one_worker(memory_bytes=8.9), observed({"a": 4.0, "b": 3.0}, workers(cpu=1))).held["cpu-0"]) == 1


def test_a_pair_that_does_not_fit_the_objective_is_none() -> None:
    # Three batches of one row within a second: each may take a third of it.
    observation = observed({"a": 1.0, "b": 1.0}, workers(cpu=1))
    for row_s, variants in ((0.33, 2), (0.34, 1)):
        both = tuple(endpoint(name, linear(name, 0.9, 0.0, row_s), slo_s=1.0) for name in "ab")
        assert len(planned(Cluster(both, (Pool("cpu"),)), observation).held["cpu-0"]) == variants


def test_variants_that_serve_each_others_endpoints_make_several_pairs_of_the_same_two() -> None:
    one = (linear("one", 0.9, 0.0, 0.01), linear("two", 0.8, 0.0, 0.002))
    cluster = Cluster((endpoint("a", *one, slo_s=0.2), endpoint("b", *one, slo_s=0.2)), (Pool("cpu"),))
    for demand_qps in (10.0, 60.0, 150.0, 300.0, 600.0):
        planned(cluster, observed({"a": demand_qps, "b": 1.5 * demand_qps}, workers(cpu=3)))

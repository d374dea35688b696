"""Endpoints of different objectives that one variant answers."""

from dataclasses import replace

import numpy as np
import pytest

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.serving import serving_plan
from autoscaler.planners.neighbours.honest import Reckoning
from autoscaler.planners.proteus.column import columns_of, fastest
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import linear, observed, workers
from dispatch.batching.adaptive_batching import AdaptiveBatching
from plan_checker import broken
from simulator.host import Host
from simulator.latency import PlannedLatency

GOOD = linear("good", 0.95, 0.010, 0.004, 128)
NEAR = 1e-5
FULL_QPS = {"gold": 80.0, "bulk": 720.0}


def shared(*slo_s: float) -> Cluster:
    names = ("gold", "bulk", "rest")[: len(slo_s)]
    return Cluster(
        tuple(Endpoint(name, own_s, {"cpu": (GOOD,)}) for name, own_s in zip(names, slo_s, strict=True)), (Pool("cpu"),)
    )


def planned(cluster: Cluster, demand_qps: dict[str, float], count: int, **options: object) -> ClusterPlan:
    observation = observed(demand_qps, workers(cpu=count))
    plan = ProteusPlanner(cluster, replace(ProteusOptions(), **options)).plan(observation)  # type: ignore[arg-type]
    assert isinstance(plan, ClusterPlan)
    assert broken(cluster, observation, plan) == []
    return plan


def late(cluster: Cluster, plan: ClusterPlan, count: int) -> dict[str, float]:
    """By endpoint the part that a minute's queries, at random, get late."""
    there = workers(cpu=count)
    made = serving_plan(cluster, plan, there, 1, AdaptiveBatching(), drop_late=False, max_queued_rows=10**6)
    rng = np.random.default_rng(0)
    arrivals_s = {name: np.cumsum(rng.exponential(1 / qps, int(60 * qps))) for name, qps in plan.demand_qps.items()}
    record = Host(made, there, PlannedLatency(*cluster.endpoints)).run(arrivals_s)
    missed, of = record.done_s > record.deadline_s, np.asarray(record.endpoint)
    return {name: float(missed[of == number].mean()) for number, name in enumerate(record.endpoints)}


def test_a_long_objective_has_workers_of_its_own_where_a_short_one_leaves_no_room_for_its_batches() -> None:
    cluster = shared(0.1, 1.0)
    plan = planned(cluster, FULL_QPS, 4)
    assert plan.shares["gold"].keys().isdisjoint(plan.shares["bulk"])
    assert plan.served_qps == pytest.approx(FULL_QPS, rel=NEAR)
    assert all(part < 0.01 for part in late(cluster, plan, 4).values())


def test_one_worker_serves_both_in_batches_that_are_in_time_for_the_shorter() -> None:
    cluster = shared(0.1, 1.0)
    plan = planned(cluster, {"gold": 20.0, "bulk": 150.0}, 1)
    assert plan.served_qps == pytest.approx({"gold": 20.0, "bulk": 150.0}, rel=NEAR)
    assert sum(plan.capacity_qps.values()) == pytest.approx(200.0, rel=0.02), "ten rows in 50 ms"
    assert all(part < 0.01 for part in late(cluster, plan, 1).values())


def test_of_equal_objectives_all_workers_are_for_all() -> None:
    (column,) = columns_of(shared(0.1, 0.1), 1)
    assert [use.endpoint for use in column.uses] == ["gold", "bulk"]
    assert [use.qps for use in column.uses] == [200.0, 200.0]


def test_there_is_a_way_for_each_range_of_objectives() -> None:
    columns = columns_of(shared(0.1, 1.0, 0.2), 1)
    served = {tuple(use.endpoint for use in column.uses): column.within_s for column in columns}
    assert len(columns) == len(served) == 6
    assert served == {
        ("gold",): 0.1,
        ("bulk",): 1.0,
        ("rest",): 0.2,
        ("gold", "rest"): 0.1,
        ("bulk", "rest"): 0.2,
        ("gold", "bulk", "rest"): 0.1,
    }


def test_to_serve_the_most_the_fastest_variant_of_each_way_is_enough() -> None:
    slow = linear("slow", 0.99, 0.010, 0.009, 128)
    endpoints = (Endpoint("gold", 0.1, {"cpu": (slow, GOOD)}), Endpoint("bulk", 1.0, {"cpu": (slow, GOOD)}))
    columns = columns_of(Cluster(endpoints, (Pool("cpu"),)), 1)
    assert len(columns) == 6
    kept = fastest(columns)
    assert len(kept) == 3
    assert {use.variant for column in kept for use in column.uses} == {"good"}


@pytest.mark.parametrize("count", [2, 3, 5])
def test_workers_of_an_endpoint_have_batches_of_one_limit_also_where_idle_ones_join(count: int) -> None:
    cluster = shared(0.1, 1.0)
    slo_s = {endpoint.name: endpoint.slo_s for endpoint in cluster.endpoints}
    for gold_qps, bulk_qps in ((5.0, 5.0), (20.0, 120.0), (150.0, 30.0), (90.0, 100.0 * count)):
        plan = planned(cluster, {"gold": gold_qps, "bulk": bulk_qps}, count)
        limits_s: dict[str, set[float]] = {name: set() for name in slo_s}
        for worker in plan.held:
            users = [name for name, shares in plan.shares.items() if worker in shares]
            for name in users:
                limits_s[name].add(min(slo_s[user] for user in users))
        assert all(len(own) <= 1 for own in limits_s.values())


def test_a_worker_for_two_objectives_is_reckoned_with_batches_within_the_shorter() -> None:
    cluster = shared(0.1, 1.0)
    plan = planned(cluster, {"gold": 20.0, "bulk": 150.0}, 1)
    busy = Reckoning(cluster, {"cpu-0": "cpu"}).busy("cpu-0", plan, {}, plan.demand_qps)
    assert busy == pytest.approx(170.0 / 200.0, rel=NEAR)

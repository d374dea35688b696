"""Pools whose size is free: as many workers as their accuracy is worth (Proteus, section 7)."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, cluster, endpoint, even, held, observed, some_cluster, some_observation, workers
from every_placement import Loads, best_of, placements
from plan_checker import broken

EXACT = ProteusOptions(headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0, limit_s=60.0)
FAST_AND_SLOW = endpoint("a", even("fast", 0.5, 40.0), even("slow", 1.0, 10.0))


def planned(cluster: Cluster, observation: Observation, options: ProteusOptions = EXACT) -> ClusterPlan:
    plan = ProteusPlanner(cluster, options).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(cluster, observation, plan) == []
    return plan


def accuracy(plan: ClusterPlan) -> float:
    return sum(plan.accuracy.get(name, 0.0) * qps for name, qps in plan.served_qps.items())


def tiny(rng: np.random.Generator) -> tuple[Cluster, Observation]:
    """Pools of up to three workers each, with a price."""
    made = some_cluster(rng, device_types=2, endpoints=2, variants=2)
    pools = tuple(
        Pool(pool.device, price_per_h=float(rng.choice((0.0, 0.5, 2.0))), max_workers=int(rng.integers(0, 4)))
        for pool in made.pools
    )
    cluster = replace(made, pools=pools)
    return cluster, some_observation(rng, cluster, least_qps=1e-3)


@settings(max_examples=30, derandomize=True)
@given(SEEDS, st.sampled_from((0.1, 0.5)))
def test_no_other_sizes_are_better_for_the_price(rng: np.random.Generator, worth: float) -> None:
    cluster, observation = tiny(rng)
    plan = planned(cluster, observation, replace(EXACT, price_per_point=worth))
    total_qps = sum(plan.demand_qps.values())
    price = {pool.device: pool.price_per_h / worth / 100 * total_qps for pool in cluster.pools}
    best = best_of(cluster, {p.device: p.max_workers or 0 for p in cluster.pools}, plan.demand_qps, price=price)
    value = accuracy(plan) - sum(price[device] * size for device, size in plan.pool_sizes.items())
    assert sum(plan.served_qps.values()) == pytest.approx(best.served_qps, rel=1e-5)
    assert value == pytest.approx(best.value, rel=1e-5, abs=1e-5 * total_qps)


@settings(max_examples=30, derandomize=True)
@given(SEEDS)
def test_where_accuracy_has_no_price_nobody_is_as_accurate_for_less(rng: np.random.Generator) -> None:
    cluster, observation = tiny(rng)
    plan = planned(cluster, observation)
    sizes = {pool.device: pool.max_workers or 0 for pool in cluster.pools}
    best = best_of(cluster, sizes, plan.demand_qps)
    assert sum(plan.served_qps.values()) == pytest.approx(best.served_qps, rel=1e-5)
    assert accuracy(plan) == pytest.approx(best.value, rel=1e-5)
    price = {pool.device: pool.price_per_h for pool in cluster.pools}
    bills = []
    for placement in placements(cluster, sizes, idle=True):
        loads = Loads(placement, plan.demand_qps)
        reached = loads.most(loads.accuracy, best.served_qps * (1 - 1e-9)) if plan.demand_qps else 0.0
        if reached is not None and reached >= best.value * (1 - 1e-9):
            bills.append(sum(price[device] for device, _ in placement))
    assert sum(price[device] * size for device, size in plan.pool_sizes.items()) <= min(bills) + 1e-9


def test_no_more_workers_stay_than_are_needed() -> None:
    pool = Pool("cpu", price_per_h=1.0, max_workers=9)
    there = workers(cpu=5)
    plan = planned(cluster(FAST_AND_SLOW, pool=pool), observed({"a": 20.0}, there, held(cpu_3="slow", cpu_4="fast")))
    assert plan.pool_sizes == {"cpu": 2}
    assert len(plan.held) == 2
    assert plan.held["cpu-3"] == {"slow"}  # it need not load anything
    assert plan.accuracy == pytest.approx({"a": 1.0})


def test_workers_to_come_have_the_next_free_names() -> None:
    pool = Pool("gpu+", price_per_h=1.0, max_workers=4)
    served = endpoint("a", even("slow", 1.0, 10.0), device="gpu+")
    there = {"gpu++1": "gpu+", "x": "gpu+"}
    plan = planned(Cluster((served,), (pool,)), observed({"a": 40.0}, there))
    assert sorted(plan.held) == ["gpu++1", "gpu++2", "gpu++3", "x"]
    assert plan.pool_sizes == {"gpu+": 4}
    assert set(plan.shares["a"]) == set(plan.held)


@pytest.mark.parametrize(("worth", "size"), [(1.0, 4), (0.05, 1), (inf, 4)])
def test_a_worker_is_hired_where_its_points_are_worth_its_price(worth: float, size: int) -> None:
    # The second to the fourth worker bring 50/3 points each: 40 queries/s by one fast worker or by four slow ones.
    pool = Pool("cpu", price_per_h=10.0, max_workers=6)
    plan = planned(
        cluster(FAST_AND_SLOW, pool=pool), observed({"a": 40.0}, workers(cpu=1)), replace(EXACT, price_per_point=worth)
    )
    assert plan.pool_sizes == {"cpu": size}


def test_demand_is_served_whatever_the_price() -> None:
    pool = Pool("cpu", price_per_h=1e6, max_workers=2)
    plan = planned(cluster(FAST_AND_SLOW, pool=pool), observed({"a": 80.0}, {}), replace(EXACT, price_per_point=0.001))
    assert plan.pool_sizes == {"cpu": 2}
    assert plan.shed == pytest.approx(0.0, abs=1e-5)

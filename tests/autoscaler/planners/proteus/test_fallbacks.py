"""Which variants workers hold beside the planned ones, what plans promise of them, and how workers are shared out."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, cluster, endpoint, even, observed, some_cluster, some_observation, workers
from catalog.errors import ConfigError
from plan_checker import broken

LADDER = [even(f"v{number}", 1 - 0.1 * number, 10.0 * 2**number) for number in range(6)]
"""v0 is the most accurate; each serves twice as much as the one before."""


def planned(of: Cluster, demand_qps: dict[str, float], count: int = 2, **options: object) -> ClusterPlan:
    planner = ProteusPlanner(of, ProteusOptions(**{"fallback": 4, "room_down_to": 1.0, **options}))  # type: ignore[arg-type]
    plan = planner.plan(observed(demand_qps, workers(cpu=count)))
    assert isinstance(plan, ClusterPlan)
    return plan


def test_the_fastest_comes_first_and_the_rest_halve_the_distance_in_accuracy() -> None:
    plan = planned(cluster(endpoint("e", *LADDER)), {"e": 4.0})
    assert set(plan.held.values()) == {frozenset(("v0",))}
    assert set(plan.fallback.values()) == {("v5", "v2", "v1", "v3")}
    assert plan.burst_qps == {"e": pytest.approx(2 * 320.0)}


def test_there_are_no_more_than_asked_for_and_none_slower_or_out_of_time() -> None:
    slow = even("slow", 0.95, 5.0)  # less accurate than the planned one, and no faster
    late = even("late", 0.2, 1.5)
    plan = planned(cluster(endpoint("e", *LADDER[:2], slow, late)), {"e": 4.0})
    assert set(plan.fallback.values()) == {("v1",)}
    assert set(planned(cluster(endpoint("e", *LADDER)), {"e": 4.0}, fallback=1).fallback.values()) == {("v5",)}
    assert planned(cluster(endpoint("e", *LADDER)), {"e": 4.0}, fallback=0).fallback == {}


def test_a_worker_on_its_fastest_variant_has_none() -> None:
    plan = planned(cluster(endpoint("e", *LADDER)), {"e": 600.0})
    assert set(plan.held.values()) == {frozenset(("v5",))}
    assert plan.fallback == {}
    assert plan.burst_qps == {"e": pytest.approx(640.0)}


def test_memory_holds_what_is_planned_first() -> None:
    sizes = {"v0": 3, "v1": 2, "v2": 2, "v3": 1, "v4": 1, "v5": 2}
    small = replace(cluster(endpoint("e", *LADDER), pool=Pool("cpu", memory_bytes=6)), memory_bytes=sizes)
    assert set(planned(small, {"e": 4.0}).fallback.values()) == {("v5", "v3")}, "v5 leaves room for one byte"
    full = replace(small, pools=(Pool("cpu", memory_bytes=3),))
    assert planned(full, {"e": 4.0}).fallback == {}


def test_workers_are_shared_out_for_bursts_of_all_endpoints() -> None:
    """Without fallbacks half of the workers would do for the planned variants of each."""
    quick = [even("a0", 1.0, 10.0), even("a1", 0.9, 1000.0)]
    stiff = [even("b0", 1.0, 10.0), even("b1", 0.9, 14.0)]
    of = cluster(endpoint("a", *quick), endpoint("b", *stiff))
    plan = planned(of, {"a": 15.0, "b": 15.0}, count=8, tolerance=0.0, deviations=0.0)
    assert plan.effective_accuracy == pytest.approx(1.0)
    assert plan.burst_qps["b"] >= 5 * 14.0, "what is to spare goes to the one that has little to fall back to"
    assert plan.burst_qps["a"] >= 1999.0


def test_a_little_accuracy_is_given_up_for_room_in_a_burst() -> None:
    """Two workers on the best variant bear 28 queries/s of b in a burst, less than twice what is asked for."""
    quick = [even("a0", 1.0, 10.0), even("a1", 0.999, 30.0), even("a2", 0.9, 1000.0)]
    stiff = [even("b0", 1.0, 10.0), even("b1", 0.9, 14.0)]
    of = cluster(endpoint("a", *quick), endpoint("b", *stiff))
    plan = planned(of, {"a": 20.0, "b": 20.0}, count=4, deviations=0.0)
    without = planned(of, {"a": 20.0, "b": 20.0}, count=4, fallback=0, tolerance=0.0, deviations=0.0)
    assert without.accuracy["a"] == pytest.approx(1.0)
    assert 0.99 < plan.accuracy["a"] < 1.0
    assert plan.burst_qps["b"] == pytest.approx(3 * 14.0)


def test_at_little_load_there_is_room_for_a_load_that_jumps_to_eight_times_as_much() -> None:
    """While a has its best variant on a worker beside the fast one, two are left for b: 5.6 times its load."""
    quick, stiff = (even("a0", 1.0, 10.0), even("a1", 0.9985, 1000.0)), (even("b0", 1.0, 10.0), even("b1", 0.9, 14.0))
    plan = planned(cluster(endpoint("a", *quick), endpoint("b", *stiff)), {"a": 20.0, "b": 5.0}, count=4)
    assert plan.burst_qps["b"] == pytest.approx(3 * 14.0)


def test_the_plan_tells_what_it_bears_in_a_burst() -> None:
    plan = planned(cluster(endpoint("e", *LADDER)), {"e": 4.0})
    assert any("e 640 queries/s" in words for words in plan.report.explanation)


@settings(max_examples=60)
@given(SEEDS)
def test_plans_with_fallbacks_keep_what_plans_keep(rng) -> None:  # type: ignore[no-untyped-def]
    of = some_cluster(rng, memory=True)
    seen = some_observation(rng, of)
    plan = ProteusPlanner(of, ProteusOptions(fallback=3)).plan(seen)
    assert isinstance(plan, ClusterPlan)
    without = ProteusPlanner(of, ProteusOptions()).plan(seen)
    assert isinstance(without, ClusterPlan)
    assert broken(of, seen, plan, overloaded=False) == []
    assert sum(plan.served_qps.values()) == pytest.approx(sum(without.served_qps.values()), rel=5e-3, abs=1e-6)
    limit_bytes = {pool.device: pool.memory_bytes for pool in of.pools}
    for worker, variants in plan.fallback.items():
        assert 0 < len(variants) <= 3
        assert not set(variants) & plan.held[worker]
        used_bytes = sum(of.memory_bytes.get(variant, 0) for variant in {*variants, *plan.held[worker]})
        assert used_bytes <= limit_bytes.get(seen.devices[worker], inf)
    for name, qps in plan.burst_qps.items():
        assert qps >= plan.served_qps[name] * (1 - 1e-3)


@pytest.mark.parametrize("fallback", [-1, 17])
def test_a_number_that_makes_no_sense_is_refused(fallback: int) -> None:
    with pytest.raises(ConfigError, match="fallback of the planner"):
        ProteusOptions(fallback=fallback)

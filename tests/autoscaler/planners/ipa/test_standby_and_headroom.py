"""Workers that stand by for other stages, and plans for more than the load."""

from dataclasses import replace

import pytest

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.plan import ClusterPlan
from autoscaler_scene import observed, workers
from ipa_planner_scene import CUT, NUMBERS, ONE_BYTE, OPTIONS, READ, SUM, pipeline, planned


def test_workers_hold_the_variants_of_other_stages_too_where_that_is_in_time() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 20.0}, workers(cpu=3)))
    assert plan.held == dict.fromkeys(("cpu-0", "cpu-1", "cpu-2"), frozenset({"cut", "read-l", "sum"}))
    assert {name: choice.workers for name, choice in plan.stages["numbers"].items()} == {"cut": 1, "read": 1, "sum": 1}


def test_workers_hold_one_stage_where_batches_of_another_in_front_would_be_too_late() -> None:
    # the stages take 6, 20 and 1.1 ms with one row each; a batch of 20 ms in front of each makes 87 ms
    observation = observed({"numbers": 1.0}, workers(cpu=3))
    for slo_s, variants in ((0.080, 1), (0.095, 3)):
        cluster = Cluster((pipeline("numbers", CUT, READ, SUM, slo_s=slo_s),), (Pool("cpu"),))
        plan = planned(cluster, observation)
        assert {len(held) for held in plan.held.values()} == {variants}
        assert set(plan.stages["numbers"]["read"].variants) == {"read-l"}


def test_workers_hold_as_many_other_variants_as_their_memory_takes() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", memory_bytes=2),), ONE_BYTE)
    plan = planned(cluster, observed({"numbers": 20.0}, workers(cpu=3)))
    assert [len(held) for held in plan.held.values()] == [2, 2, 2]
    assert frozenset().union(*plan.held.values()) == {"cut", "read-l", "sum"}


def test_headroom_asks_for_more_workers_and_serves_no_more_than_the_load() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", price_per_h=0.1, max_workers=50),))
    observation = observed({"numbers": 100.0}, workers(cpu=1))
    plain = planned(cluster, observation)
    more = planned(cluster, observation, replace(OPTIONS, headroom=2.0))
    assert more.pool_sizes["cpu"] > plain.pool_sizes["cpu"]
    assert more.capacity_qps["numbers"] >= 200.0
    assert more.demand_qps == more.served_qps == {"numbers": 100.0}


def test_headroom_that_is_not_there_is_no_reason_to_shed() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    observation = observed({"numbers": 100.0}, workers(cpu=6))
    capacity_qps = planned(cluster, observation).capacity_qps["numbers"]
    assert capacity_qps < 400.0
    plan = planned(cluster, observation, replace(OPTIONS, headroom=4.0))
    assert plan.served_qps == {"numbers": 100.0}


def test_workers_that_are_there_anyway_are_not_spared_by_larger_batches() -> None:
    observation = observed({"numbers": 60.0}, workers(cpu=12))
    fixed = planned(Cluster((NUMBERS,), (Pool("cpu", price_per_h=1.0),)), observation)
    free = planned(Cluster((NUMBERS,), (Pool("cpu", price_per_h=1.0, max_workers=12),)), observation)

    def rows(plan: ClusterPlan) -> int:
        return sum(rows for choice in plan.stages["numbers"].values() for rows in choice.variants.values())

    assert rows(fixed) == 3, "every batch is of one row"
    assert rows(free) > 3
    assert free.pool_sizes["cpu"] < 12
    assert sum(choice.cost for choice in free.stages["numbers"].values()) == pytest.approx(free.pool_sizes["cpu"])

"""Endpoints of no common device type are planned as if the others were not there, those of one share what is short."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.plan import Status
from autoscaler_scene import SEEDS, endpoint, even, linear, observed, workers
from ipa_planner_scene import NUMBERS, planned

SMALL = endpoint("small", linear("slow", 0.95, 0.0, 0.1, 1), linear("fast", 0.9, 0.0, 0.01, 1), device="pa")
LARGE = endpoint("large", even("large", 0.9, 10.0), device="pb")


def test_an_endpoint_is_served_whole_and_as_when_alone_beside_one_of_another_pool_that_has_too_few_workers() -> None:
    both = Cluster((SMALL, LARGE), (Pool("pa"), Pool("pb")))
    there = workers(pa=2, pb=1)
    plan = planned(both, observed({"small": 60.0, "large": 100.0}, there))
    alone = planned(replace(both, endpoints=(SMALL,)), observed({"small": 60.0}, there))
    assert plan.served_qps == {"small": 60.0, "large": 10.0}
    assert plan.stages["small"] == alone.stages["small"]
    assert plan.held == {"pa-0": {"fast"}, "pa-1": {"fast"}, "pb-0": {"large"}}
    assert plan.pool_sizes == {"pa": 2, "pb": 1}


def test_a_pool_of_free_size_keeps_what_its_load_needs_beside_one_that_is_full() -> None:
    pools = (Pool("pa", max_workers=10, price_per_h=1.0), Pool("pb", max_workers=1, price_per_h=1.0))
    slow = endpoint("small", even("slow", 0.95, 10.0), device="pa")
    plan = planned(Cluster((slow, LARGE), pools), observed({"small": 40.0, "large": 100.0}, {}))
    assert plan.pool_sizes == {"pa": 4, "pb": 1}
    assert plan.served_qps == {"small": 40.0, "large": 10.0}


def test_fewer_workers_than_stages_in_one_pool_leave_those_of_another_to_their_own_variants() -> None:
    cluster = Cluster((NUMBERS, LARGE), (Pool("cpu", memory_bytes=3.0), Pool("pb")), dict.fromkeys(("cut", "sum"), 2))
    plan = planned(cluster, observed({"numbers": 5.0, "large": 15.0}, workers(cpu=2, pb=2)))
    assert plan.report.status is Status.HEURISTIC
    assert plan.report.gap is None
    assert plan.served_qps["large"] == 15.0
    assert "pb: all 2 workers are needed." in plan.report.explanation


def test_pools_are_joined_by_an_endpoint_that_may_run_on_both_and_not_by_a_pool_without_workers() -> None:
    wide = Endpoint("wide", 1.0, {device: (even("wide", 0.9, 10.0),) for device in ("pa", "pb", "gone")})
    narrow = Endpoint("narrow", 1.0, {device: (even("narrow", 0.9, 10.0),) for device in ("pb", "gone")})
    cluster = Cluster((wide, narrow), (Pool("pa"), Pool("pb"), Pool("gone"), Pool("unused")))
    demand_qps = {"wide": 20.0, "narrow": 20.0}
    joined = planned(cluster, observed(demand_qps, workers(pa=2, pb=2, unused=1)))
    assert joined.served_qps == demand_qps
    assert joined.report.explanation.count("gone: all 0 workers are needed.") == 1
    assert joined.pool_sizes == {"pa": 2, "pb": 2, "gone": 0, "unused": 1}
    only = replace(wide, candidates={device: wide.candidates[device] for device in ("pa", "gone")})
    apart = planned(
        replace(cluster, endpoints=(only, narrow)), observed({"wide": 20.0, "narrow": 80.0}, workers(pa=2, pb=2))
    )
    assert apart.served_qps == {"wide": 20.0, "narrow": 20.0}


@settings(max_examples=40, deadline=None)
@given(rng=SEEDS)
def test_what_an_endpoint_gets_does_not_depend_on_those_of_other_pools(rng: np.random.Generator) -> None:
    endpoints = tuple(
        endpoint(
            name,
            *(linear(f"{name}{v}", 0.7 + 0.1 * v, *rng.uniform(0.001, 0.03, 2) * (v + 1)) for v in range(3)),
            device=name,
        )
        for name in ("one", "two")
    )
    pools = tuple(
        Pool(name, inf, 0.1, int(rng.choice((2, 6))) if rng.random() < 0.5 else None) for name in ("one", "two")
    )
    cluster = Cluster(endpoints, pools)
    there = workers(one=int(rng.integers(1, 5)), two=int(rng.integers(1, 5)))
    demand_qps = {name: float(rng.choice((1.0, 20.0, 300.0, 2000.0))) for name in ("one", "two")}
    both = planned(cluster, observed(demand_qps, there))
    for each, pool in zip(endpoints, pools, strict=True):
        own = {worker: device for worker, device in there.items() if device == each.name}
        alone = planned(Cluster((each,), (pool,)), observed({each.name: demand_qps[each.name]}, own))
        assert both.stages[each.name] == alone.stages[each.name]
        assert both.served_qps[each.name] == alone.served_qps[each.name]
        assert {w: h for w, h in both.held.items() if w.split("-")[0].split("+")[0] == each.name} == alone.held


def test_an_endpoint_that_lacks_nothing_is_served_whole_beside_one_of_its_pool_that_has_too_few_workers() -> None:
    light = endpoint("light", even("light-s", 0.8, 100.0), even("light-l", 0.9, 10.0))
    heavy = endpoint("heavy", even("heavy", 0.9, 10.0))
    cluster = Cluster((light, heavy), (Pool("cpu"),))
    plan = planned(cluster, observed({"light": 20.0, "heavy": 100.0}, workers(cpu=6)))
    assert plan.served_qps == pytest.approx({"light": 20.0, "heavy": 50.0})
    assert plan.stages["light"][""].variants == {"light-s": 1}, "the more accurate one bears no more than half"
    told = [each for each in plan.report.explanation if "can be borne" in each]
    assert told == ["heavy: 50.0% of 100 queries/s can be borne in time, no plan within the limits bears more."]


def test_of_two_that_compete_for_a_worker_neither_gets_less_than_the_same_part() -> None:
    cluster = Cluster((endpoint("a", even("a", 0.9, 10.0)), endpoint("b", even("b", 0.9, 10.0))), (Pool("cpu"),))
    plan = planned(cluster, observed({"a": 40.0, "b": 40.0}, workers(cpu=6)))
    assert plan.served_qps == pytest.approx({"a": 30.0, "b": 30.0})

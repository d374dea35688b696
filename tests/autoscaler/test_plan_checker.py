"""The checker of plans finds what is wrong with one."""

from dataclasses import replace
from typing import Any

import pytest

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler_scene import endpoint, even, held, observed, workers
from plan_checker import broken

CLUSTER = Cluster(
    (endpoint("a", even("a1", 0.9, 10.0), even("late", 1.0, 1.0)), endpoint("b", even("b1", 0.5, 20.0))),
    (Pool("cpu", memory_bytes=3),),
    {"a1": 3, "b1": 3},
)
DEMAND_QPS = {"a": 8.0, "b": 20.0}
OBSERVATION = observed(DEMAND_QPS, workers(cpu=2))
GOOD = ClusterPlan(
    held=held(cpu_0="a1", cpu_1="b1"),
    shares={"a": {"cpu-0": 1.0}, "b": {"cpu-1": 1.0}},
    demand_qps=DEMAND_QPS,
    served_qps=DEMAND_QPS,
    capacity_qps=DEMAND_QPS,
    accuracy={"a": 0.9, "b": 0.5},
    pool_sizes={"cpu": 2},
    report=SolveReport(Status.OPTIMAL, 0.0, 0.0),
)


def test_nothing_is_wrong_with_a_good_plan() -> None:
    assert broken(CLUSTER, OBSERVATION, GOOD) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"held": held(cpu_0="a1 b1", cpu_1="b1")}, "holds 2 variants"),
        ({"held": held(cpu_0="late", cpu_1="b1")}, "cannot serve"),
        ({"held": held(cpu_0="b1", cpu_1="b1")}, "cannot serve"),
        ({"held": held(cpu_1="b1")}, "hold nothing"),
        ({"held": held(cpu_0="a1", cpu_1="b1", cpu_2="b1")}, "nobody knows"),
        ({"held": {**GOOD.held, "cpu+1": frozenset({"a1"})}}, "fixed size"),
        ({"shares": {"a": {"cpu-0": 1.3}, "b": {"cpu-1": 1.0}}}, "within 0 and 1"),
        ({"shares": {"a": {"cpu-0": 0.5}, "b": {"cpu-1": 1.0}}}, "its workers serve 4"),
        ({"served_qps": {"a": 8.0, "b": 19.0}}, "19.0 served"),
        ({"accuracy": {"a": 0.91, "b": 0.5}}, "accuracy 0.91"),
        ({"accuracy": {"a": 0.9}}, "an accuracy without"),
        ({"capacity_qps": {"a": 11.0, "b": 20.0}}, "said to be room"),
        ({"pool_sizes": {"cpu": 3}}, "has 2 workers"),
        ({"demand_qps": {"a": 9.0, "b": 20.0}}, "another demand of a"),
    ],
)
def test_what_is_wrong_is_found(change: dict[str, Any], words: str) -> None:
    assert words in " ".join(broken(CLUSTER, OBSERVATION, replace(GOOD, **change)))


def test_a_worker_that_is_asked_for_too_much_is_found() -> None:
    load = {"a": 8.0, "b": 21.0}
    plan = replace(GOOD, demand_qps=load, served_qps=load, capacity_qps=load)
    assert broken(CLUSTER, observed(load, workers(cpu=2)), plan) != []


def test_a_variant_that_does_not_fit_is_found() -> None:
    large = replace(CLUSTER, memory_bytes={"a1": 4, "b1": 3})
    assert broken(large, OBSERVATION, GOOD) == ["cpu-0 has no room for ['a1']"]

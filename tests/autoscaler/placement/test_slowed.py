"""Candidates that take longer."""

from dataclasses import replace

import pytest

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool, Stage
from autoscaler.placement.slowed import largest_factors, slowed, slower
from dispatch.selection.policy import Candidate

A = Candidate("a", 0.9, (0.0, 0.012, 0.022), (0.0, 0.007, 0.012), path_s=0.002)
BOTH = Candidate("both", 0.95, (0.0, 0.03), members=("a", "b"))


def test_runs_take_longer_and_the_way_does_not() -> None:
    made = slowed(Cluster((Endpoint("e", 1.0, {"cpu": (A,)}),), (Pool("cpu"),)), {("cpu", "a"): 2.0})
    (found,) = made.endpoints[0].candidates["cpu"]
    assert found.latency_s == pytest.approx((0.0, 0.022, 0.042))
    assert found.mean_s == pytest.approx((0.0, 0.012, 0.022))
    assert (found.variant, found.accuracy, found.path_s) == ("a", 0.9, 0.002)


def test_the_next_batch_follows_later_by_what_the_run_takes_longer() -> None:
    follows = replace(A, follow_s=(0.0, 0.011, 0.021))
    assert slower(follows, 2.0).follow_s == pytest.approx((0.0, 0.021, 0.041))
    assert slower(A, 2.0).follow_s == ()
    short = Candidate("a", 0.9, (0.0, 1.2), path_s=1.0, follow_s=(0.0, 0.3))
    assert (short.cycle_s, slower(short, 4.0).cycle_s) == (pytest.approx((0.0, 0.6)), pytest.approx((0.0, 0.9)))


def test_members_that_run_one_after_the_other_take_as_long_as_the_slowest_of_them_and_stages_as_endpoints_do() -> None:
    endpoint = Endpoint("e", 1.0, {"cpu": (A, BOTH), "gpu": (A,)}, (Stage("s", (), {"cpu": (A,)}, rows_per_job=5),))
    made = slowed(Cluster((endpoint,), (Pool("cpu"), Pool("gpu"))), {("cpu", "b"): 3.0}).endpoints[0]
    assert made.candidates["cpu"][1].latency_s == pytest.approx((0.0, 0.09))
    assert (made.candidates["cpu"][0], made.candidates["gpu"], made.stages) == (A, (A,), endpoint.stages)
    made = slowed(Cluster((endpoint,), (Pool("cpu"), Pool("gpu"))), {("cpu", "a"): 2.0}).endpoints[0]
    assert made.stages[0].candidates["cpu"][0].latency_s == pytest.approx((0.0, 0.022, 0.042))


def test_without_slowdowns_the_cluster_is_the_same() -> None:
    cluster = Cluster((Endpoint("e", 1.0, {"cpu": (A,)}),), (Pool("cpu"),))
    assert slowed(cluster, {}) is cluster
    assert slowed(cluster, {("cpu", "a"): 1.0}) is cluster


def test_the_factor_of_a_device_type_is_the_largest_of_its_workers() -> None:
    slowdowns = {"w0": {"a": 1.2, "b": 1.5}, "w1": {"a": 1.4}, "g0": {"a": 3.0}, "gone": {"a": 9.0}}
    devices = {"w0": "cpu", "w1": "cpu", "w2": "cpu", "g0": "gpu"}
    assert largest_factors(slowdowns, devices) == {("cpu", "a"): 1.4, ("cpu", "b"): 1.5, ("gpu", "a"): 3.0}

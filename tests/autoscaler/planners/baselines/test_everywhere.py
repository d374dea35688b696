"""All variants on all workers."""

import numpy as np
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.plan import Status
from autoscaler.planners.baselines.everywhere import Everywhere
from autoscaler_scene import SEEDS, cluster, endpoint, even, held, observed, some_cluster, some_observation, workers


def test_workers_hold_what_any_endpoint_has_for_their_device() -> None:
    both = Endpoint("b", 1.0, {"cpu": (even("y", 0.9, 5.0),), "gpu": (even("z", 1.0, 50.0),)})
    made = Cluster((endpoint("a", even("x", 0.5, 9.0), even("y", 0.9, 5.0)), both), (Pool("cpu"), Pool("gpu")))
    plan = Everywhere(made).plan(observed({"a": 7.0, "b": 1e6}, workers(cpu=2, gpu=1)))
    assert plan.held == held(cpu_0="x y", cpu_1="x y", gpu_0="z")
    assert (plan.shares, plan.accuracy) == ({}, {})
    assert plan.demand_qps == {"a": 7.0, "b": 1e6}
    assert plan.pool_sizes == {"cpu": 2, "gpu": 1}
    assert plan.report.status is Status.HEURISTIC
    assert plan.report.explanation == ("Every worker holds all that it has memory for.",)


def test_what_the_queries_get_and_how_many_are_served_is_not_known() -> None:
    plan = Everywhere(cluster(endpoint("a", even("x", 0.5, 9.0)))).plan(observed({"a": 1e6}, workers(cpu=1)))
    assert plan.for_no_load
    assert (plan.served_qps, plan.capacity_qps) == ({}, {})
    assert plan.effective_accuracy is None
    assert plan.shed == 0.0


def test_without_memory_for_all_the_largest_is_left_out_and_said_so() -> None:
    own = endpoint("a", even("x", 0.5, 9.0), even("y", 0.9, 5.0), even("z", 1.0, 3.0))
    made = Cluster((own,), (Pool("cpu", memory_bytes=8.0),), {"x": 3, "y": 6, "z": 5})
    plan = Everywhere(made).plan(observed({"a": 7.0}, workers(cpu=1)))
    assert plan.held == held(cpu_0="x z")
    assert plan.report.explanation[1:] == ("Workers of cpu have no memory for y.",)


def test_of_equally_large_ones_the_least_accurate_is_left_out() -> None:
    own = endpoint("a", even("x", 0.9, 9.0), even("y", 0.5, 5.0))
    made = Cluster((own,), (Pool("cpu", memory_bytes=8.0),), {"x": 5, "y": 5})
    assert Everywhere(made).plan(observed({}, workers(cpu=1))).held == held(cpu_0="x")


def test_an_endpoint_that_nobody_can_serve_is_named() -> None:
    made = cluster(endpoint("a", even("x", 0.5, 9.0)), endpoint("b", even("y", 0.5, 9.0), device="gpu"))
    plan = Everywhere(made).plan(observed({"a": 3.0, "b": 1.0}, {"far": "tpu", **workers(cpu=1)}))
    assert plan.held == held(cpu_0="x")
    assert plan.report.explanation[1:] == ("No worker holds a variant of b.",)


@settings(max_examples=100, derandomize=True)
@given(SEEDS)
def test_memory_is_kept_and_nothing_left_out_that_is_smaller_than_what_stays(rng: np.random.Generator) -> None:
    made = some_cluster(rng, memory=True)
    observation = some_observation(rng, made)
    plan = Everywhere(made).plan(observation)
    for pool in made.pools:
        wanted = {c.variant for e in made.endpoints for c in e.candidates.get(pool.device, ())}
        for worker in (w for w, device in observation.devices.items() if device == pool.device):
            holds = plan.held.get(worker, frozenset())
            left_out = wanted - holds
            assert holds <= wanted
            total = sum(made.memory_bytes.get(variant, 0) for variant in holds)
            assert total <= pool.memory_bytes
            if left_out:
                sizes = [made.memory_bytes[variant] for variant in left_out]
                assert total + min(sizes) > pool.memory_bytes
                assert min(sizes) >= max((made.memory_bytes[variant] for variant in holds), default=0)

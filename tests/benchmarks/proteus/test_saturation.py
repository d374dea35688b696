"""The most that a cluster can serve, by hand and against all placements."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler_scene import cluster, endpoint, even, linear, workers
from benchmarks.proteus import testbed
from benchmarks.proteus.saturation import saturation_qps
from dispatch.selection.policy import Candidate


def test_the_fastest_variants_count_and_workers_are_not_divided_between_endpoints() -> None:
    both = cluster(
        endpoint("a", even("a-best", 1.0, 4.0), even("a-fast", 0.8, 10.0)), endpoint("b", even("b-fast", 0.8, 10.0))
    )
    there = testbed.Testbed(both, workers(cpu=3), ())
    assert saturation_qps(there, {"a": 2 / 3, "b": 1 / 3}) == pytest.approx(30.0, rel=2e-3)
    assert saturation_qps(there, {"a": 1 / 2, "b": 1 / 2}) == pytest.approx(20.0, rel=2e-3)
    assert saturation_qps(there, {"a": 1.0}) == pytest.approx(30.0, rel=2e-3)


def test_only_batches_within_half_the_objective_count() -> None:
    one = cluster(endpoint("a", linear("a0", 1.0, 0.04, 0.01), slo_s=0.16))
    there = testbed.Testbed(one, workers(cpu=2), ())
    assert saturation_qps(there, {"a": 1.0}) == pytest.approx(2 * 4 / 0.08, rel=2e-3)


def test_where_an_endpoint_has_no_worker_nothing_is_served_in_these_parts() -> None:
    both = cluster(endpoint("a", even("a0", 1.0, 10.0)), endpoint("b", even("b0", 1.0, 10.0)))
    assert saturation_qps(testbed.Testbed(both, workers(cpu=1), ()), {"a": 0.5, "b": 0.5}) == pytest.approx(0.0)


@pytest.mark.parametrize("seed", range(12))
def test_no_placement_serves_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names, devices = ("a", "b", "c"), {"cpu": int(rng.integers(1, 4)), "gpu": int(rng.integers(2, 4))}
    qps = {(name, device): float(rng.uniform(3.0, 30.0)) for name in names for device in devices}
    endpoints = tuple(
        Endpoint(name, 1.0, {device: (Candidate(f"{name}0", 1.0, (0.0, 1 / qps[name, device])),) for device in devices})
        for name in names
    )
    parts = rng.dirichlet((2.0, 2.0, 2.0))
    mix = dict(zip(names, parts.tolist(), strict=True))
    placements = product(*(combinations_with_replacement(names, count) for count in devices.values()))
    most_qps = max(
        min(
            sum(qps[name, device] * own.count(name) for device, own in zip(devices, placed, strict=True)) / mix[name]
            for name in names
        )
        for placed in placements
    )
    bed = testbed.Testbed(Cluster(endpoints, tuple(map(Pool, devices))), workers(**devices), ())
    assert saturation_qps(bed, mix) == pytest.approx(most_qps, rel=2e-3)

"""Clusters with less to choose from."""

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.restriction import (
    least_accurate,
    least_accurate_by_device,
    most_accurate,
    most_accurate_by_device,
    one_row,
)
from autoscaler_scene import even, linear
from dispatch.selection.policy import Candidate

QUICK, GOOD, BEST = even("quick", 0.5, 100.0), even("good", 0.8, 10.0), even("best", 1.0, 1.0)


def names(cluster: Cluster) -> dict[str, list[str]]:
    (endpoint,) = cluster.endpoints
    return {device: [c.variant for c in own] for device, own in endpoint.candidates.items()}


def of(slo_s: float, memory_bytes: int = 0) -> Cluster:
    candidates = {"cpu": (QUICK, GOOD, BEST), "gpu": (QUICK, BEST)}
    return Cluster((Endpoint("a", slo_s, candidates),), (Pool("cpu", 5), Pool("gpu", 5)), {"best": memory_bytes})


def test_the_most_accurate_variant_in_time_on_some_device_is_kept_on_all() -> None:
    assert names(most_accurate(of(2.0))) == {"cpu": ["best"], "gpu": ["best"]}
    assert names(most_accurate(of(1.9))) == {"cpu": ["good"], "gpu": []}


def test_a_variant_that_fits_no_worker_is_not_the_most_accurate() -> None:
    assert names(most_accurate(of(2.0, memory_bytes=6))) == {"cpu": ["good"], "gpu": []}


def test_the_least_accurate_variant_is_kept_on_all() -> None:
    assert names(least_accurate(of(2.0))) == {"cpu": ["quick"], "gpu": ["quick"]}


def test_by_device_each_has_its_own_extreme_of_those_in_time() -> None:
    assert names(most_accurate_by_device(of(2.0))) == {"cpu": ["best"], "gpu": ["best"]}
    assert names(most_accurate_by_device(of(1.9))) == {"cpu": ["good"], "gpu": ["quick"]}
    assert names(least_accurate_by_device(of(2.0))) == {"cpu": ["quick"], "gpu": ["quick"]}
    assert names(most_accurate_by_device(of(0.001))) == {"cpu": [], "gpu": []}


def test_where_no_variant_is_in_time_none_is_left() -> None:
    assert names(most_accurate(of(0.001))) == {"cpu": [], "gpu": []}


def test_batches_are_cut_to_one_query() -> None:
    made = Cluster((Endpoint("a", 1.0, {"cpu": (linear("v", 0.9, 0.01, 0.01),)}),), (Pool("cpu"),))
    (candidate,) = one_row(made).endpoints[0].candidates["cpu"]
    assert candidate.latency_s == (0.0, 0.02)


def test_what_a_row_takes_apart_from_the_run_stays_where_batches_are_cut() -> None:
    """On a worker whose next batch follows before a result is there, one row at a time is faster than its latency."""
    rows = (0.0, 0.02, 0.03)
    whole = Candidate("v", 0.9, rows, mean_s=rows, path_s=0.004, follow_s=(0.0, 0.012, 0.022), result_s=rows)
    made = Cluster((Endpoint("a", 1.0, {"cpu": (whole,)}),), (Pool("cpu"),))
    (cut,) = one_row(made).endpoints[0].candidates["cpu"]
    assert cut == Candidate("v", 0.9, rows[:2], mean_s=rows[:2], path_s=0.004, follow_s=(0.0, 0.012), result_s=rows[:2])
    assert cut.cycle_s[1] == whole.cycle_s[1] == 0.012

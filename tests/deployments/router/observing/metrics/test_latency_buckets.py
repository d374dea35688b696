"""Buckets of latencies, as Prometheus counts them."""

import pytest

from deployments.router.observing.metrics.latency_buckets import BOUNDS_MS, LatencyBuckets


@pytest.mark.parametrize(("latency_ms", "bound"), [(0.2, "1"), (50.0, "50"), (50.1, "75"), (10_001.0, "+Inf")])
def test_an_answer_is_in_the_bucket_of_its_bound_and_in_all_above(latency_ms: float, bound: str) -> None:
    buckets = LatencyBuckets()
    buckets.add(latency_ms / 1e3)
    counted = list(buckets.cumulative())
    assert next(label for label, count in counted if count) == bound
    assert [count for _, count in counted] == sorted(count for _, count in counted)
    assert counted[-1] == ("+Inf", 1)


def test_bounds_ascend() -> None:
    assert list(BOUNDS_MS) == sorted(set(BOUNDS_MS))

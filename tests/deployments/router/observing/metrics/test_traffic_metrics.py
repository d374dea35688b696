"""What is exported of answers and batches, with metrics that only remember."""

from typing import Any

import pytest

from deployments.metrics import growing_counter
from deployments.router.observing.metrics.batch_totals import BatchTotals
from deployments.router.observing.metrics.latency_buckets import LABELS
from deployments.router.observing.metrics.traffic_metrics import TrafficMetrics
from deployments.router.observing.stats import EndpointStats
from dispatch.commands import Answer, BatchDone
from dispatch.query import Batch, Query, StageKey

exported: dict[tuple[str, ...], float] = {}


class Metric:
    """In place of Ray's gauge and counter."""

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert description.endswith(".")
        self.name = name
        self.tag_keys = tag_keys

    def set(self, value: float, tags: dict[str, str]) -> None:
        assert tuple(tags) == self.tag_keys
        exported[self.name, *tags.values()] = value

    def inc(self, value: float, tags: dict[str, str]) -> None:
        assert value > 0
        assert tuple(tags) == self.tag_keys
        key = (self.name, *tags.values())
        exported[key] = exported.get(key, 0.0) + value


@pytest.fixture(autouse=True)
def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("Gauge", "Counter"):
        monkeypatch.setattr(growing_counter.metrics, kind, Metric)
    exported.clear()


def answer(variant: str, latency_s: float, **votes: Any) -> Answer:
    return Answer(Query(1, "digits", 1.0, 9.0), variant, 0.9, {}, 1, 1.0, 1.0 + latency_s, 0.01, votes)


def test_counters_are_raised_by_what_came_since() -> None:
    stats, batches = EndpointStats(), BatchTotals()
    metrics = TrafficMetrics({"digits": stats}, batches, lambda: ["cpu", "cpu"])
    metrics.export()
    at_first = dict.fromkeys((("accord_latency_ms_bucket", "digits", label) for label in LABELS), pytest.approx(0.0))
    at_first[("accord_latency_ms_sum", "digits")] = pytest.approx(0.0)
    assert exported == {("accord_workers", "cpu"): 2} | at_first
    stats.on_answer(answer("small", 0.0125))
    batches.on_batch(BatchDone(Batch(1, "w", StageKey("digits"), "small", 0.9, (), 3, 1.0), (), 0.25, 2.0), "cpu")
    for _ in range(2):
        metrics.export()
    stats.on_answer(answer("small", 0.120))
    stats.on_answer(answer("", 0.25, small=[1], large=[1]))
    metrics.export()
    kind = ("digits", "small", "cpu")
    counted = {key: value for key, value in exported.items() if key[0] != "accord_latency_ms_bucket"}
    assert counted == {
        ("accord_workers", "cpu"): 2,
        ("accord_latency_ms_sum", "digits"): pytest.approx(382.5),
        ("accord_answers", "digits", "small"): 3,
        ("accord_answers", "digits", "large"): 1,
        ("accord_batches", *kind): 1,
        ("accord_batch_rows", *kind): 3,
        ("accord_run_seconds", *kind): 0.25,
    }
    buckets = {label: exported.get(("accord_latency_ms_bucket", "digits", label), 0) for label in LABELS}
    counts = [buckets[label] for label in ("10", "15", "125", "250", "+Inf")]
    assert counts == pytest.approx([0, 1, 2, 3, 3])


def test_a_pool_without_workers_is_said_to_have_none() -> None:
    now = ["cpu", "gpu"]
    metrics = TrafficMetrics({}, BatchTotals(), lambda: now)
    metrics.export()
    now.remove("gpu")
    metrics.export()
    assert exported == {("accord_workers", "cpu"): 1, ("accord_workers", "gpu"): 0}

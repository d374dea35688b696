"""What is exported of refusals, with counters that only remember."""

from collections import Counter

import pytest

from deployments.metrics import growing_counter
from deployments.router.observing.metrics.refusal_metrics import RefusalMetrics
from deployments.router.observing.stats import EndpointStats

exported: Counter[tuple[str, ...]] = Counter()


class Metric:
    """In place of Ray's counter."""

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert description.endswith(".")
        self.name = name
        self.tag_keys = tag_keys

    def inc(self, value: int, tags: dict[str, str]) -> None:
        assert value > 0
        assert tuple(tags) == self.tag_keys
        exported[self.name, *tags.values()] += value


def test_counters_are_raised_by_what_came_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_counter.metrics, "Counter", Metric)
    exported.clear()
    stats = EndpointStats()
    metrics = RefusalMetrics(lambda: {"digits": stats})
    metrics.export()
    assert exported == {("accord_cancelled", "digits"): pytest.approx(0.0)}, "codes are not known beforehand"
    stats.codes.update({"rejected-saturated": 3})
    stats.cancelled = 2
    metrics.export()
    metrics.export()
    stats.codes["rejected-saturated"] += 1
    metrics.export()
    assert exported == {
        ("accord_refusals", "digits", "rejected-saturated"): 4,
        ("accord_cancelled", "digits"): 2,
    }

"""What is exported of a guarantee, with metrics that only remember."""

from typing import Any

import pytest

from deployments import guarantee_metrics
from deployments.guarantee_metrics import COUNTERS, GAUGES, GuaranteeMetrics
from dispatch.guarantee import GuaranteeMonitor

exported: dict[tuple[str, str], float] = {}


class Metric:
    """In place of Ray's gauge and counter."""

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert description.endswith(".")
        assert tag_keys == ("endpoint",)
        self.name = name

    def set(self, value: float, tags: dict[str, str]) -> None:
        exported[self.name, tags["endpoint"]] = value

    def inc(self, value: float, tags: dict[str, str]) -> None:
        assert value > 0
        key = (self.name, tags["endpoint"])
        exported[key] = exported.get(key, 0) + value


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> GuaranteeMetrics:
    monkeypatch.setattr(guarantee_metrics.metrics, "Gauge", Metric)
    monkeypatch.setattr(guarantee_metrics.metrics, "Counter", Metric)
    exported.clear()
    return GuaranteeMetrics()


def test_counters_follow_the_totals_and_gauges_the_last_minute(metrics: GuaranteeMetrics) -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    promised: Any = type("Table", (), {"expected_accuracy": 0.9, "expected_violation_rate": 0.01})()
    for _ in range(3):
        monitor.on_launch(10, promised)
        monitor.on_served(9, 1, 0.95)
        metrics.export("digits", monitor, 42.0)
    metrics.export("digits", monitor, 43.0)
    assert exported == {
        ("accord_queries", "digits"): 30,
        ("accord_violations", "digits"): 3,
        ("accord_expected_accuracy_ratio", "digits"): pytest.approx(0.9),
        ("accord_observed_accuracy_ratio", "digits"): pytest.approx(0.95),
        ("accord_expected_violation_ratio", "digits"): pytest.approx(0.01),
        ("accord_observed_violation_ratio", "digits"): pytest.approx(0.1),
        ("accord_anticipated_load_qps", "digits"): 43.0,
        ("accord_guarantee_broken", "digits"): 0.0,
    }


def test_endpoints_are_counted_apart_and_what_nothing_tells_is_left_out(metrics: GuaranteeMetrics) -> None:
    monitor = GuaranteeMonitor("other", 0.0)
    monitor.on_refused()
    metrics.export("digits", GuaranteeMonitor("digits", 0.0), 0.0)
    metrics.export("other", monitor, 0.0)
    assert exported["accord_violations", "other"] == 1
    assert ("accord_queries", "digits") not in exported
    assert ("accord_expected_accuracy_ratio", "other") not in exported


def test_names_say_their_units() -> None:
    for name in GAUGES:
        assert name.startswith("accord_")
        assert name.endswith(("_ratio", "_qps", "_broken"))
    assert all(name.startswith("accord_") for name in COUNTERS)

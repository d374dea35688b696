"""What is exported of a guarantee, with metrics that only remember."""

import pytest

from deployments.router.observing.endpoint_state import EndpointState
from deployments.router.observing.metrics import guarantee_metrics
from deployments.router.observing.metrics.guarantee_metrics import COUNTERS, GAUGES, GuaranteeMetrics
from dispatch.promise.guarantee import BUCKET_S, GuaranteeMonitor
from dispatch.selection.policy import Promise

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


def state(monitor: GuaranteeMonitor, load_qps: float = 0.0, slack_factor: float = 1.0) -> EndpointState:
    """As it is a second later."""
    return EndpointState(monitor.guarantee(BUCKET_S), load_qps, slack_factor, slo_s=0.1, queued_rows=7)


def test_counters_follow_the_totals_and_gauges_the_last_seconds(metrics: GuaranteeMetrics) -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    promised = Promise(accuracy=0.9, violation_rate=0.04, unavoidable_rate=0.02)
    for _ in range(3):
        monitor.on_served(9, 1, 2.0, accuracy=0.95, promise=promised)
        metrics.export("digits", monitor, state(GuaranteeMonitor("digits", 0.0), 42.0))
    metrics.export("digits", monitor, state(monitor, 43.0, slack_factor=0.64))
    assert exported == {
        ("accord_queries", "digits"): 30,
        ("accord_violations", "digits"): 3,
        ("accord_guarantee_events", "digits"): pytest.approx(0.0),
        ("accord_expected_accuracy_ratio", "digits"): pytest.approx(0.9),
        ("accord_observed_accuracy_ratio", "digits"): pytest.approx(0.95),
        ("accord_expected_violation_ratio", "digits"): pytest.approx(0.04),
        ("accord_promised_violation_ratio", "digits"): pytest.approx(0.02),
        ("accord_observed_violation_ratio", "digits"): pytest.approx(0.1),
        ("accord_client_violation_ratio", "digits"): pytest.approx(0.2),
        ("accord_anticipated_load_qps", "digits"): 43.0,
        ("accord_slack_factor", "digits"): 0.64,
        ("accord_objective_ms", "digits"): 100.0,
        ("accord_queued_rows", "digits"): 7.0,
        ("accord_guarantee_broken", "digits"): 0.0,
    }


def test_a_broken_promise_is_an_event_until_it_is_kept_again(metrics: GuaranteeMetrics) -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    for _ in range(50):
        monitor.on_refused()
    assert monitor.roll(BUCKET_S) is not None
    for _ in range(2):
        metrics.export("digits", monitor, state(monitor))
    assert exported["accord_guarantee_broken", "digits"] == 1.0
    assert exported["accord_guarantee_events", "digits"] == 1


def test_endpoints_are_counted_apart_and_what_nothing_tells_is_left_out(metrics: GuaranteeMetrics) -> None:
    monitor, idle = GuaranteeMonitor("other", 0.0), GuaranteeMonitor("digits", 0.0)
    monitor.on_refused()
    metrics.export("digits", idle, state(idle))
    metrics.export("other", monitor, state(monitor))
    assert exported["accord_violations", "other"] == 1
    assert exported["accord_observed_violation_ratio", "other"] == 1.0
    assert exported["accord_queries", "digits"] == pytest.approx(0.0), "what Prometheus sees first is no event"
    assert ("accord_observed_violation_ratio", "digits") not in exported
    assert ("accord_expected_accuracy_ratio", "other") not in exported


def test_names_say_their_units() -> None:
    for name in GAUGES:
        assert name.startswith("accord_")
        assert name.endswith(("_ratio", "_qps", "_factor", "_broken", "_ms", "_rows"))
    assert all(name.startswith("accord_") for name in COUNTERS)

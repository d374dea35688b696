"""What is exported of slowdowns, with metrics that only remember."""

import pytest

from deployments.router.observing.metrics import slowdown_metrics
from deployments.router.observing.metrics.slowdown_metrics import TAGS, SlowdownMetrics
from deployments.router.observing.slowdown_stats import Slowdown

PREDICTED, MEASURED = "accord_predicted_slowdown_ratio", "accord_measured_slowdown_ratio"

exported: dict[tuple[str, str, str], float] = {}


class Metric:
    """In place of Ray's gauge."""

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert description.endswith(".")
        assert tag_keys == TAGS
        self.name = name

    def set(self, value: float, tags: dict[str, str]) -> None:
        exported[self.name, tags["worker"], tags["variant"]] = value


def test_gauges_follow_what_is_predicted_and_measured_and_end_at_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowdown_metrics.metrics, "Gauge", Metric)
    exported.clear()
    now = {"w1": {"v": Slowdown(1.5, 1.4, 10.0)}, "w2": {"v": Slowdown(1.2, None, 0.0)}}
    metrics = SlowdownMetrics(lambda: now)
    metrics.export()
    assert exported == {(PREDICTED, "w1", "v"): 1.5, (MEASURED, "w1", "v"): 1.4, (PREDICTED, "w2", "v"): 1.2}
    del now["w1"]
    metrics.export()
    assert exported[PREDICTED, "w1", "v"] == exported[MEASURED, "w1", "v"] == 1.0, "it is alone by now"
    assert exported[PREDICTED, "w2", "v"] == 1.2

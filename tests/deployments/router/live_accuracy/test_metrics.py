"""What is exported of live accuracies, with metrics that only remember."""

import pytest

from deployments.router.live_accuracy import metrics
from deployments.router.live_accuracy.metrics import ShadowMetrics
from dispatch.ensemble.ballots import Ballots
from dispatch.shadow.agreement import Agreement, Baseline
from dispatch.shadow.endpoint_shadow import EndpointShadow
from dispatch.shadow.rules import ShadowRules
from dispatch_scene import FAST, SLOW

exported: dict[tuple[str, str, str], float] = {}


class Metric:
    """In place of Ray's gauge and counter."""

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert description.endswith(".")
        self.name = name

    def set(self, value: float, tags: dict[str, str]) -> None:
        exported[self.name, tags["endpoint"], tags["variant"]] = value

    def inc(self, value: float, tags: dict[str, str]) -> None:
        assert value > 0


def fallen(*variants: str) -> EndpointShadow:
    """These variants agreed with the slow one never."""
    shadow = EndpointShadow(ShadowRules(0.01, Ballots(10)))
    shadow.reference = SLOW
    for variant in variants:
        agreement = shadow.agreements[variant, "slow"] = Agreement(Baseline(0.9, 0.88, "slow", 0.97, 0.96))
        for _ in range(20):
            agreement.observe(False)
        shadow.compared += 20
    return shadow


def drift() -> dict[tuple[str, str], float]:
    return {(endpoint, variant): value for (name, endpoint, variant), value in exported.items() if "drift" in name}


def test_drift_ends_with_the_variant_the_reference_or_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.metrics, "Gauge", Metric)
    monkeypatch.setattr(metrics.metrics, "Counter", Metric)
    exported.clear()
    shadows = {"digits": fallen("bad", "fast"), "words": fallen("bad"), "signs": fallen("bad")}
    made = ShadowMetrics(lambda: shadows)
    made.export()
    everyone = dict.fromkeys((("digits", "bad"), ("digits", "fast"), ("words", "bad"), ("signs", "bad")), 1.0)
    assert drift() == everyone
    del shadows["digits"].agreements["bad", "slow"]
    shadows["words"].reference = FAST
    del shadows["signs"]
    for _ in range(2):
        made.export()
        assert drift() == {**everyone, ("digits", "bad"): 0.0, ("words", "bad"): 0.0, ("signs", "bad"): 0.0}
    shadows["words"].reference = SLOW
    made.export()
    assert drift()["words", "bad"] == 1.0, "it is the reference again with which the variant does not agree"

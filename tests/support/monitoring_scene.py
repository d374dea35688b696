"""What Accord exports, and what dashboard, alerts and documentation ask for."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.serve import metrics

from deployments.controller.plan_metrics import PlanMetrics
from deployments.router.live_accuracy.metrics import ShadowMetrics
from deployments.router.observing.metrics.batch_totals import BatchTotals
from deployments.router.observing.metrics.guarantee_metrics import GuaranteeMetrics
from deployments.router.observing.metrics.refusal_metrics import RefusalMetrics
from deployments.router.observing.metrics.slowdown_metrics import SlowdownMetrics
from deployments.router.observing.metrics.traffic_metrics import TrafficMetrics

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "configs" / "monitoring"
SERVE_TAGS = frozenset({"application", "deployment", "replica"})


def exported_metrics(monkeypatch: pytest.MonkeyPatch) -> dict[str, frozenset[str]]:
    """The tags of every metric of Accord by the name that Prometheus sees: as the exporters themselves declare them."""
    declared: dict[str, frozenset[str]] = {}

    def declare(suffix: str) -> Any:
        def made(name: str, _: str, tags: tuple[str, ...]) -> None:
            assert f"ray_{name}{suffix}" not in declared, f"{name} is declared twice"
            declared[f"ray_{name}{suffix}"] = SERVE_TAGS | set(tags)

        return made

    monkeypatch.setattr(metrics, "Gauge", declare(""))
    monkeypatch.setattr(metrics, "Counter", declare("_total"))
    GuaranteeMetrics()
    RefusalMetrics(dict)
    SlowdownMetrics(dict)
    ShadowMetrics(dict)
    TrafficMetrics({}, BatchTotals(), list)
    PlanMetrics(dict)
    return declared


def dashboard() -> dict[str, Any]:
    """The one for Grafana."""
    read: dict[str, Any] = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    return read


def alerts() -> list[dict[str, Any]]:
    """The rules for Prometheus."""
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def page(name: str) -> str:
    """Of the documentation."""
    return (ROOT / "docs" / name).read_text()


def expressions() -> Iterator[str]:
    """Of panels, of alerts, and of the page."""
    for panel in dashboard()["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    yield from (rule["expr"] for rule in alerts())
    yield from re.findall(r"\| `([^`]*\(ray_accord[^`]*)` \|", page("monitoring.md"))

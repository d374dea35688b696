"""What is logged and exported of guarantees, with a router that is played."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deployments.guarantee_watch import GuaranteeWatch
from deployments.router import Router
from dispatch.guarantee import WINDOW_S, WINDOWS_IN_A_ROW, GuaranteeMonitor


class Sink:
    """Keeps what was exported."""

    def __init__(self) -> None:
        self.exported: list[tuple[str, int, float]] = []

    def export(self, endpoint: str, monitor: GuaranteeMonitor, anticipated_qps: float) -> None:
        self.exported.append((endpoint, monitor.queries, anticipated_qps))


def test_an_event_is_logged_once_and_again_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    played: Any = SimpleNamespace(guarantees={"digits": monitor}, anticipated_qps=lambda _: 42.0)
    now_s = 0.0
    sink = Sink()
    watch = GuaranteeWatch(cast(Router, played), sink, lambda: now_s)
    promised: Any = SimpleNamespace(expected_accuracy=0.9, expected_violation_rate=0.01)
    with caplog.at_level(logging.WARNING, logger="ray.serve"):
        for late in (500, 500, 500, 500, 500, 0, 0, 0, 0, 0):
            monitor.on_launch(1000, promised)
            monitor.on_served(1000 - late, 0, 0.95)
            for _ in range(late):
                monitor.on_served(0, 1, 0.95)
            now_s += WINDOW_S
            watch.look()
            watch.look()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert "50.00% of queries, at most 1.00% were expected (3000 queries)" in messages[0]
    assert "digits keeps to its bound again: 0.00% violations" in messages[1]
    assert sink.exported[-1] == ("digits", 10_000, 42.0)
    assert len(sink.exported) == 20
    assert WINDOWS_IN_A_ROW == 3

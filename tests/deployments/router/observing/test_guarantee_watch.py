"""What is logged and exported of guarantees, with a router that is played."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deployments.router.observing.endpoint_state import EndpointState
from deployments.router.observing.guarantee_watch import GuaranteeWatch
from deployments.router.router import Router
from dispatch.promise.guarantee import GuaranteeMonitor, Kept


class Sink:
    """Keeps what was exported."""

    def __init__(self) -> None:
        self.exported: list[tuple[str, int, EndpointState]] = []

    def export(self, endpoint: str, monitor: GuaranteeMonitor, state: EndpointState) -> None:
        self.exported.append((endpoint, monitor.queries, state))


def test_an_event_is_logged_once_and_again_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    played: Any = SimpleNamespace(
        observer=SimpleNamespace(guarantees={"digits": monitor}),
        state=lambda _, now_s: EndpointState(
            monitor.guarantee(now_s), 42.0, slack_factor=0.8, slo_s=0.1, queued_rows=0
        ),
    )
    now_s = 0.0
    sink = Sink()
    watch = GuaranteeWatch(cast(Router, played), sink, lambda: now_s)
    with caplog.at_level(logging.WARNING, logger="ray.serve"):
        for late in (500, 500, 500, *[0] * 20):
            for number in range(1000):
                monitor.on_served(int(number >= late), int(number < late), 0.0, accuracy=0.95, promise=None)
            now_s += 1.0
            watch.look()
            watch.look()
    broken, kept = (record.getMessage() for record in caplog.records)
    assert "digits breaks its promise: 50.00% of its last queries were late or failed" in broken
    assert "at most 1.00% were to (1000 queries)" in broken
    assert "digits keeps its promise again: 0.00% violations, at most 1.00% promised (10000 queries)" in kept
    endpoint, queries, state = sink.exported[-1]
    assert (endpoint, queries, state.guarantee.kept) == ("digits", 23_000, Kept.YES)
    assert (state.anticipated_qps, state.slack_factor) == (42.0, 0.8)
    assert len(sink.exported) == 46

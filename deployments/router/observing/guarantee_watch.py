"""Looks at the guarantees of a router's endpoints now and then: judges, logs and exports them."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from deployments.router.observing.endpoint_state import EndpointState
from deployments.router.router import Router
from dispatch.promise.guarantee import GuaranteeEvent, GuaranteeMonitor

logger = logging.getLogger("ray.serve")

LOOK_EVERY_S = 1.0


class GuaranteeSink(Protocol):
    """Takes what the monitors know to wherever it is looked at."""

    def export(self, endpoint: str, monitor: GuaranteeMonitor, state: EndpointState) -> None:
        """The state of one endpoint as it is now."""
        ...


class GuaranteeWatch:
    """`run` goes on until it is cancelled; nothing here is done per query."""

    def __init__(self, router: Router, sink: GuaranteeSink, clock: Callable[[], float]) -> None:
        self._router = router
        self._sink = sink
        self._clock = clock

    async def run(self) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                self.look()
            except Exception:
                logger.exception("The guarantees could not be looked at.")

    def look(self) -> None:
        """Judge every endpoint whose window is over, and export all."""
        now_s = self._clock()
        for name, monitor in self._router.observer.guarantees.items():
            event = monitor.roll(now_s)
            if event is not None:
                _log(event)
            self._sink.export(name, monitor, self._router.state(name, now_s))


def _log(event: GuaranteeEvent) -> None:
    rates = (100 * event.observed_violation_rate, 100 * event.promised_violation_rate, event.queries)
    if event.broken:
        logger.warning(
            "Endpoint %s breaks its promise: %.2f%% of its last queries were late or failed, where at most "
            "%.2f%% were to (%d queries). `accord status` shows what batches take and how much slack is being spent.",
            event.endpoint,
            *rates,
        )
    else:
        logger.warning(
            "Endpoint %s keeps its promise again: %.2f%% violations, at most %.2f%% promised (%d queries).",
            event.endpoint,
            *rates,
        )

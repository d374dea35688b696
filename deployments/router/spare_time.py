"""Whether the router's cores have time to spare, and so how far ahead batches are launched."""

import asyncio
from collections.abc import Callable

from dispatch.latency.estimator import LatencyEstimator
from dispatch.latency.lead import lead_at

LOOK_EVERY_S = 0.5
WEIGHT = 0.5
"""Of the newest look in the mean: three quarters of what changes count within a second."""


class SpareTime:
    """Tells a router's estimates by how much batches may be launched ahead of results; ``busy_share`` is how much of
    the cores is at work."""

    def __init__(self, latency: LatencyEstimator, busy_share: Callable[[], float]) -> None:
        self._latency = latency
        self._busy_share = busy_share

    async def run(self) -> None:
        """Look again and again."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        """Move the lead towards what the cores allow now."""
        self._latency.lead += WEIGHT * (lead_at(self._busy_share()) - self._latency.lead)

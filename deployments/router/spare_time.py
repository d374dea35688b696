"""Whether the router has time to spare, and so how far ahead batches are launched."""

import asyncio
import time
from collections.abc import Callable

from dispatch.latency.estimator import LatencyEstimator
from dispatch.latency.lead import ALL_AHEAD, lead_at

LOOK_EVERY_S = 0.5
WEIGHT = 0.5
"""Of the newest look in the mean: three quarters of what changes count within a second."""


class SpareTime:
    """Tells a router's estimates by how much batches may be launched ahead of results.

    ``busy_share`` is how much of the cores that it may run on is at work, ``worked_s`` how many seconds its own thread
    has been: a single thread may have nothing to spare where cores have.
    """

    def __init__(
        self,
        latency: LatencyEstimator,
        busy_share: Callable[[], float],
        worked_s: Callable[[], float] = time.thread_time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._latency = latency
        self._busy_share = busy_share
        self._worked_s = worked_s
        self._clock = clock
        self._before = (clock(), worked_s())
        self._mean_share = 0.0

    async def run(self) -> None:
        """Look again and again, from the thread that the router runs on."""
        self._before = (self._clock(), self._worked_s())
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def look(self) -> None:
        """Move the lead towards what cores and thread allow now."""
        (since_s, before_s), self._before = self._before, (self._clock(), self._worked_s())
        own_share = (self._before[1] - before_s) / max(self._before[0] - since_s, 1e-9)
        share = min(max(self._busy_share(), own_share), 1.0)
        self._mean_share += WEIGHT * (share - self._mean_share)
        self._latency.lead += WEIGHT * (lead_at(share) - self._latency.lead)
        self._latency.all_ahead = self._mean_share <= ALL_AHEAD

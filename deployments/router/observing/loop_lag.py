"""How late an event loop is: what queries wait before they are seen, and answers before they leave."""

import asyncio

PROBE_EVERY_S = 0.02
WEIGHT = 0.05
"""Of the newest probe in the mean: the last second or so counts."""


DEVIATIONS = 2.0
"""Mean absolute deviations above the mean, which few answers exceed."""


class LoopLag:
    """`run` measures until cancelled; ``mean_s`` is how late the loop was on average of late."""

    def __init__(self) -> None:
        self.mean_s = 0.0
        self._deviation_s = 0.0

    @property
    def high_s(self) -> float:
        """How late it seldom is: what to reckon with for answers that are to be in time."""
        return self.mean_s + DEVIATIONS * self._deviation_s

    async def run(self) -> None:
        """Probe again and again."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + PROBE_EVERY_S
            await asyncio.sleep(PROBE_EVERY_S)
            away_s = max(loop.time() - due_s, 0.0) - self.mean_s
            self.mean_s += WEIGHT * away_s
            self._deviation_s += WEIGHT * (abs(away_s) - self._deviation_s)

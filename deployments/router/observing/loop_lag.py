"""How late an event loop is: what queries wait before they are seen, and answers before they leave."""

import asyncio

PROBE_EVERY_S = 0.02
WEIGHT = 0.05
"""Of the newest probe in the mean: the last second or so counts."""


class LoopLag:
    """`run` measures until cancelled; ``mean_s`` is how late the loop was on average of late."""

    def __init__(self) -> None:
        self.mean_s = 0.0

    async def run(self) -> None:
        """Probe again and again."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + PROBE_EVERY_S
            await asyncio.sleep(PROBE_EVERY_S)
            self.mean_s += WEIGHT * (max(loop.time() - due_s, 0.0) - self.mean_s)

"""Whether queries are refused for want of capacity, and whether that lasts."""

from math import exp, inf

RECENT_S = 0.5
"""Without a refusal for so long nobody is refused any more."""

LASTING_S, LASTING_SHARE = 1.0, 0.02
"""Where refusals go on for so long, and are more than this share of what comes, they last."""


class RecentRefusals:
    """What was refused of late, here or in front of the router."""

    def __init__(self) -> None:
        self._from_s = self._last_s = -inf
        self._rows = 0.0  # of some `LASTING_S`, the older the less

    def add(self, rows: int, now_s: float) -> None:
        """So many rows were refused."""
        if not self.any(now_s):
            self._from_s = now_s
        self._rows = self._recent(now_s) + rows
        self._last_s = now_s

    def any(self, now_s: float) -> bool:
        """Whether some were, within `RECENT_S`."""
        return now_s - self._last_s < RECENT_S

    def lasting(self, load_qps: float, now_s: float) -> bool:
        """Whether they last, under a load of so many rows per second, these included."""
        long = self.any(now_s) and now_s - self._from_s >= LASTING_S
        return long and self._recent(now_s) >= LASTING_SHARE * LASTING_S * load_qps

    def _recent(self, now_s: float) -> float:
        return self._rows * exp((self._last_s - now_s) / LASTING_S)

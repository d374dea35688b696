"""A load that is known beforehand."""

from bisect import bisect_right
from collections.abc import Sequence


class KnownLoad:
    """A step function of time, for experiments with perfect foresight (RAMSIS, section 7.2).

    ``load_qps[i]`` holds from ``starts_s[i]`` on; before the first start the first load holds.
    """

    def __init__(self, starts_s: Sequence[float], load_qps: Sequence[float]) -> None:
        if not starts_s or len(starts_s) != len(load_qps):
            raise ValueError(f"{len(starts_s)} starts and {len(load_qps)} loads; give one load per start, at least one")
        self._starts_s = tuple(starts_s)
        self._load_qps = tuple(load_qps)

    def on_arrival(self, now_s: float) -> None:
        """Nothing to learn."""

    def load_qps(self, now_s: float) -> float:
        """The load that is in force."""
        return self._load_qps[max(bisect_right(self._starts_s, now_s) - 1, 0)]

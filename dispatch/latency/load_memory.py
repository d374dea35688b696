"""What latency was at other loads: for the first moments after the load rises."""

from dataclasses import dataclass
from math import exp2, log2
from typing import NamedTuple

from dispatch.latency.decayed_mean import DecayedMean

BINS_PER_OCTAVE = 2
HALF_LIFE_S = 120.0
HALF_LIFE_COUNT = 100.0

GROWTH = 0.25
"""At a load never seen, latency is taken to grow with this power of the load (a doubling: 19%) ..."""

MOST_GROWTH = 1.5
"""... and by no more than this factor."""


class Levels(NamedTuple):
    """The parts of a `LatencyEstimate` that depend on the load."""

    run_factor: float
    run_tail: float
    path_s: float
    path_tail_s: float

    def at_least(self, other: "Levels") -> "Levels":
        """The larger of each."""
        return Levels(*map(max, self, other))


@dataclass
class _Bin:
    means: tuple[DecayedMean, DecayedMean, DecayedMean, DecayedMean]

    def levels(self) -> Levels:
        return Levels(*(mean.value for mean in self.means))


class LoadMemory:
    """Remembers levels by load, in steps of half an octave."""

    def __init__(self) -> None:
        self._bins: dict[int, _Bin] = {}

    def add(self, load_qps: float, levels: Levels, now_s: float) -> None:
        """What was measured at this load."""
        number = _bin(load_qps)
        kept = self._bins.get(number)
        if kept is None:
            first = [DecayedMean(HALF_LIFE_S, HALF_LIFE_COUNT, level, 1.0) for level in levels]
            self._bins[number] = _Bin((first[0], first[1], first[2], first[3]))
            return
        for mean, level in zip(kept.means, levels, strict=True):
            mean.add(level, now_s)

    def expected(self, load_qps: float) -> Levels | None:
        """What to expect at this load: what was seen there, else at the nearest lower load, grown; None without any."""
        number = _bin(load_qps)
        lower = [known for known in self._bins if known <= number]
        if not lower:
            return None
        nearest = max(lower)
        levels = self._bins[nearest].levels()
        if nearest == number:
            return levels
        growth = min(exp2((number - nearest) / BINS_PER_OCTAVE * GROWTH), MOST_GROWTH)
        return Levels(
            run_factor=levels.run_factor * growth,
            run_tail=levels.run_tail,
            path_s=levels.path_s * growth,
            path_tail_s=levels.path_tail_s * growth,
        )


def _bin(load_qps: float) -> int:
    return round(BINS_PER_OCTAVE * log2(max(load_qps, 1.0)))

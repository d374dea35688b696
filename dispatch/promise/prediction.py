"""What the next seconds are like at worst, by how the last ones went and how far off such bounds were."""

from collections import deque
from collections.abc import Iterable, Sequence
from math import ceil, sqrt
from typing import NamedTuple

CONFIDENCE = 0.95
"""Share of the windows in which a bound is to be on the right side."""

SPREADS = 1.5
"""A bound lies so many times as far from the mean as seconds lie from each other. Were seconds independent, a twentieth
of the means of ten would lie beyond 0.8 spreads (Student's t with 9 degrees of freedom, 1.83, times the root of 2 /
10); they are not, since what holds up a machine lasts for seconds."""

CHANCE = 1.65
"""Beyond so many standard deviations lies a twentieth of what is left to chance."""

LEAST_SECONDS = 3
"""Seconds with queries that a bound rests on at least: from fewer nothing is told of their spread."""

REMEMBERED = 300
"""So many of the latest bounds say how far bounds are off."""


class Second(NamedTuple):
    """What ended in one second: queries that violated and that were in time, the latter with their summed accuracy.

    ``late_squares`` sums the squared number of late queries per batch, refused ones counting as batches of one.
    """

    violations: int
    in_time: int
    accuracy: float
    late_squares: int

    @property
    def queries(self) -> int:
        """All that ended."""
        return self.violations + self.in_time


class Prediction:
    """Bounds for the queries that end in the next ``seconds`` seconds; tell it of every second that is over.

    A raw bound is the mean of the last seconds and `SPREADS` times their spread. What lies between it and what came
    afterwards is remembered, and where more than a twentieth of the latest bounds were wrong all are wider, by what
    would have made them right: also by what the load had become, so that they allow for bursts where those are frequent
    (split conformal prediction: Vovk et al., Algorithmic Learning in a Random World, 2005; windows overlap, so that the
    confidence is that of the long run).
    """

    def __init__(self, seconds: int) -> None:
        self._seen: deque[Second] = deque(maxlen=seconds)
        self._told: deque[tuple[float | None, float | None]] = deque(maxlen=seconds)
        self._rate_off: deque[float] = deque(maxlen=REMEMBERED)
        self._accuracy_off: deque[float] = deque(maxlen=REMEMBERED)

    def on_second(self, second: Second, promised: float) -> None:
        """A second is over, in which so many violations were ``promised`` at most, as a share."""
        self._seen.append(second)
        if len(self._told) == self._told.maxlen:
            self._compare(*self._told[0])
        self._told.append((violation_bound(self._seen, promised), accuracy_bound(self._seen)))

    @property
    def violation_rate(self) -> float | None:
        """At most this share of the queries to come violates, with `CONFIDENCE`; None where too little is seen."""
        raw = self._told[-1][0] if self._told else None
        return None if raw is None else min(raw + _margin(self._rate_off), 1.0)

    @property
    def accuracy(self) -> float | None:
        """The mean accuracy of the variants that answer in time is at least this, with `CONFIDENCE`."""
        raw = self._told[-1][1] if self._told else None
        return None if raw is None else max(raw - _margin(self._accuracy_off), 0.0)

    def _compare(self, most: float | None, least: float | None) -> None:
        """The window after a bound was told is over, and is what is seen now."""
        came = sum(second.queries for second in self._seen)
        if most is not None and came:
            self._rate_off.append(sum(second.violations for second in self._seen) / came - most)
        in_time = sum(second.in_time for second in self._seen)
        if least is not None and in_time:
            self._accuracy_off.append(least - sum(second.accuracy for second in self._seen) / in_time)


def violation_bound(seconds: Iterable[Second], promised: float) -> float | None:
    """The mean of seconds and `SPREADS` times their spread, and what chance may do; None where they are too few.

    No less than what is ``promised``: what lies below that is no news.
    """
    seen = [second for second in seconds if second.queries]
    if len(seen) < LEAST_SECONDS:
        return None
    queries = [second.queries for second in seen]
    mean, spread = _mean_and_spread([second.violations / second.queries for second in seen], queries)
    violations = sum(second.violations for second in seen)
    together = sum(second.late_squares for second in seen) / violations if violations else 1.0
    rate = min(max(mean, promised), 1.0)
    chance = CHANCE * sqrt(rate * (1.0 - rate) * together / sum(queries))
    return min(max(mean + SPREADS * spread, promised) + chance, 1.0)


def accuracy_bound(seconds: Iterable[Second]) -> float | None:
    """The same of accuracy, downwards."""
    seen = [second for second in seconds if second.in_time]
    if len(seen) < LEAST_SECONDS:
        return None
    weights = [second.in_time for second in seen]
    mean, spread = _mean_and_spread([second.accuracy / second.in_time for second in seen], weights)
    return max(mean - SPREADS * spread, 0.0)


def _margin(off: Sequence[float]) -> float:
    """What would have made `CONFIDENCE` of the bounds right; 0 where so many were."""
    if not off:
        return 0.0
    return max(sorted(off)[min(ceil(CONFIDENCE * (len(off) + 1)), len(off)) - 1], 0.0)


def _mean_and_spread(values: Sequence[float], weights: Sequence[int]) -> tuple[float, float]:
    """Weighted mean and standard deviation."""
    total, count = sum(weights), len(values)
    mean = sum(value * weight for value, weight in zip(values, weights, strict=True)) / total
    squares = sum(weight * (value - mean) ** 2 for value, weight in zip(values, weights, strict=True))
    return mean, sqrt(squares / total * count / (count - 1))

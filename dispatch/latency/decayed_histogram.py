"""Recent values on a logarithmic scale: streaming mean and quantiles in constant memory."""

from itertools import accumulate
from math import exp2, floor, log2

BINS_PER_OCTAVE = 16
"""Neighbouring bins differ by 4.4%."""

OCTAVES = 24
BIN_COUNT = BINS_PER_OCTAVE * OCTAVES

LARGEST_EXPONENT = 500.0
"""Weights grow by powers of two; they are scaled back before they could overflow."""


class DecayedHistogram:
    """Counts of positive values that lose weight as they age.

    A value's weight halves after ``half_life_s``, or after ``half_life_count`` further values where those take longer:
    with few values the last ones count for long. Values below ``least`` count as ``least``, those more than 24 octaves
    above it as the largest. Instants are of one clock, in seconds, and never decrease.
    """

    __slots__ = ("_age", "_counts", "_half_life_count", "_half_life_s", "_last_s", "_least", "_sum", "_total")

    def __init__(self, half_life_s: float, half_life_count: float, least: float) -> None:
        self._half_life_s = half_life_s
        self._half_life_count = half_life_count
        self._least = least
        self._counts = [0.0] * BIN_COUNT
        self._total = 0.0
        self._sum = 0.0
        self._age = 0.0  # half-lives since the first value: a value of weight 1 now counts 2 ** age
        self._last_s = 0.0

    def add(self, value: float, now_s: float) -> None:
        """Count a value."""
        if self._total:
            self._age += min((now_s - self._last_s) / self._half_life_s, 1.0 / self._half_life_count)
            if self._age > LARGEST_EXPONENT:
                self._rescale()
        self._last_s = now_s
        weight = exp2(self._age)
        self._counts[self._bin(value)] += weight
        self._total += weight
        self._sum += weight * value

    @property
    def evidence(self) -> float:
        """How many values of weight 1 all of them are worth."""
        return self._total / exp2(self._age)

    @property
    def mean(self) -> float:
        """The weighted mean; 0 without values."""
        return self._sum / self._total if self._total else 0.0

    def quantile(self, share: float) -> float:
        """What ``share`` (0 to 1) of the weight does not exceed: exact to a bin, within which values count as even.

        0 without values.
        """
        if not self._total:
            return 0.0
        target = share * self._total
        for number, upto in enumerate(accumulate(self._counts)):
            if upto >= target:
                count = self._counts[number]
                part = 1.0 - (upto - target) / count if count else 1.0
                return self._least * exp2((number + part) / BINS_PER_OCTAVE)
        return self._least * exp2(OCTAVES)

    def _bin(self, value: float) -> int:
        if value <= self._least:
            return 0
        return min(floor(log2(value / self._least) * BINS_PER_OCTAVE), BIN_COUNT - 1)

    def _rescale(self) -> None:
        scale = exp2(-self._age)
        self._counts = [count * scale for count in self._counts]
        self._total *= scale
        self._sum *= scale
        self._age = 0.0

"""The mean of recent values."""


class DecayedMean:
    """A mean in which values lose weight as they age, as in `DecayedHistogram`; starts from ``prior``.

    The prior counts as ``prior_count`` values, which age like any other.
    """

    __slots__ = ("_half_life_count", "_half_life_s", "_last_s", "count", "value")

    def __init__(self, half_life_s: float, half_life_count: float, prior: float, prior_count: float) -> None:
        self._half_life_s = half_life_s
        self._half_life_count = half_life_count
        self._last_s = 0.0
        self.value = prior
        self.count = prior_count

    def add(self, value: float, now_s: float) -> None:
        """Count a value."""
        age = min((now_s - self._last_s) / self._half_life_s, 1.0 / self._half_life_count)
        self._last_s = now_s
        self.count = self.count * 0.5**age + 1.0
        self.value += (value - self.value) / self.count

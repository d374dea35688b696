"""A counter of Ray that follows a total."""

from collections.abc import Mapping
from math import ulp

from ray.serve import metrics

NOTHING = ulp(0.0)
"""The least there is above 0, by which a series begins: Ray refuses to raise a counter by 0, and Prometheus knows by
how much one rose only where it saw it before. Added to any count it is lost by rounding."""


class GrowingCounter:
    """Tags are beside Serve's own; needs a Serve replica around it."""

    def __init__(self, name: str, text: str, tags: tuple[str, ...]) -> None:
        self._counter = metrics.Counter(name, text, tags)
        self._told: dict[tuple[str, ...], float] = {}

    def follow(self, total: float, tags: Mapping[str, str]) -> None:
        """Raise it by what came since the last time, the first time from 0 on; ``total`` never falls."""
        key = tuple(tags.values())
        told = self._told.get(key)
        more = NOTHING if told is None and not total else total - (told or 0.0)
        if more > 0.0:
            self._counter.inc(more, dict(tags))
            self._told[key] = total

"""How many answers took how long since the router began, in buckets as Prometheus counts them."""

from bisect import bisect_left
from collections.abc import Iterator

BOUNDS_MS = (1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 125, 150, 200, 250, 300, 400, 500, 750, 1000, 2000, 5000, 10000)
"""Upper bounds; what took longer is in the last bucket, ``+Inf``."""

LABELS = (*map(str, BOUNDS_MS), "+Inf")


class LatencyBuckets:
    """Counts answers; each is in the bucket of its bound and in all above."""

    def __init__(self) -> None:
        self._counts = [0] * len(LABELS)

    def add(self, latency_s: float) -> None:
        """An answer took so long."""
        self._counts[bisect_left(BOUNDS_MS, latency_s * 1e3)] += 1

    def cumulative(self) -> Iterator[tuple[str, int]]:
        """By the label ``le`` of each bucket how many answers took no longer."""
        total = 0
        for label, count in zip(LABELS, self._counts, strict=True):
            total += count
            yield label, total

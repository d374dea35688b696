"""The lengths that an endpoint's queries have had of late."""

from collections import Counter

FIRST_LOOK = 64
LAST_LOOK = 4096
"""Buckets are made anew after so many queries, then after twice as many, up to this."""


class ObservedLengths:
    """Counts lengths; from the `LAST_LOOK`-th on counts are halved with every look, so that old ones are forgotten.

    By number of queries, not by time: the same queries give the same buckets on every host.
    """

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self._left = self._every = FIRST_LOOK

    def add(self, length: int) -> bool:
        """A query of this length came; gives whether it is time to make buckets anew."""
        self.counts[length] += 1
        self._left -= 1
        if self._left:
            return False
        if self._every == LAST_LOOK:
            self.counts = Counter({seen: count // 2 for seen, count in self.counts.items() if count > 1})
        self._every = self._left = min(2 * self._every, LAST_LOOK)
        return True

"""Which lengths share a batch: as few buckets as cover the lengths that come, none with more padding than allowed."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ROUNDING = 1e-9


@dataclass(frozen=True)
class LengthBuckets:
    """Bucket k has the lengths from ``edges[k - 1] + 1`` (from 1) to ``edges[k]``; the last edge is the longest
    allowed.

    Whatever lengths of one bucket are padded to the longest among them, at most ``padding_share`` (0 to below 1) of
    each row is padding.
    """

    edges: tuple[int, ...]
    padding_share: float

    @classmethod
    def covering(cls, observed: Iterable[int], longest: int, padding_share: float) -> "LengthBuckets":
        """The fewest buckets that hold all ``observed`` lengths, and further ones for lengths in between.

        Greedy from the shortest: a bucket begins at the first length that none has yet, and ends at the last one
        observed that may share it. No cover of points by intervals, each as long as its begin allows, has fewer.
        Raises ValueError for a share outside of 0 to below 1, and a ``longest`` below 1.
        """
        if not 0.0 <= padding_share < 1.0 or longest < 1:
            raise ValueError(f"padding_share {padding_share} must be in [0, 1), longest {longest} at least 1")
        seen = sorted({length for length in observed if 1 <= length <= longest})
        edges: list[int] = []
        begin = 1
        while begin <= longest:
            at = bisect_left(seen, begin)
            following = seen[at] if at < len(seen) else longest + 1
            reach = min(reach_of(begin, padding_share), longest)
            unseen = following > begin  # then up to the next that was
            end = min(reach, following - 1) if unseen else seen[bisect_left(seen, reach + 1) - 1]
            edges.append(end)
            begin = end + 1
        return cls(tuple(edges), padding_share)

    def number(self, length: int) -> int:
        """The bucket of a length; of one beyond the longest, the last."""
        return min(bisect_left(self.edges, length), len(self.edges) - 1)

    def edge(self, length: int) -> int:
        """The longest length that may share a batch with this one; a length beyond all edges is its own."""
        return max(length, self.edges[self.number(length)])


def reach_of(length: int, padding_share: float) -> int:
    """The longest length with which this one may share a batch: to which it is padded by at most that share."""
    reach = int(length / (1.0 - padding_share) + ROUNDING)
    while reach - length > padding_share * reach + ROUNDING:
        reach -= 1
    return max(reach, length)


def padding_share(lengths: Sequence[int]) -> float:
    """The share of padding in a batch of such rows, all as long as the longest; 0 without rows."""
    cells = max(lengths, default=0) * len(lengths)
    return 1.0 - sum(lengths) / cells if cells else 0.0

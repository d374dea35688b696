"""What a batch costs by its padded length, as a multiple of what the variant's profile says of as many rows."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from catalog.profiles.profile import LatencyProfile
from dispatch.selection.policy import Candidate

FAR = 2**31
"""Beyond all lengths."""


@dataclass(frozen=True)
class LengthCosts:
    """``ratios[k][n]`` is the run of n rows of length ``lengths[k]``, over the profiled run of n rows; lengths ascend.

    Index 0 is unused. Between two lengths it is on the line through both; below the first it is that of the first, and
    beyond the last it grows in proportion to the length. It never falls with the length.
    """

    lengths: tuple[int, ...]
    ratios: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, profile: LatencyProfile, max_batch: int, typical: int) -> "LengthCosts":
        """The costs that were profiled; of a profile without lengths, in proportion to ``typical``, which it is of."""
        if not profile.by_length:
            return cls.proportional(typical, max_batch)
        lengths = tuple(sorted(profile.by_length))
        rows = range(1, max_batch + 1)
        table = [[1.0, *(profile.by_length[length].mean_s(n) / profile.mean_s(n) for n in rows)] for length in lengths]
        rising = accumulate(table, lambda before, now: [max(pair) for pair in zip(before, now, strict=True)])
        return cls(lengths, tuple(map(tuple, rising)))

    @classmethod
    def proportional(cls, typical: int, max_batch: int) -> "LengthCosts":
        """Costs that grow with the length, where nothing was measured; what is shorter than typical costs no less."""
        return cls((typical,), ((1.0,) * (max_batch + 1),))

    @classmethod
    def constant(cls, max_batch: int) -> "LengthCosts":
        """Costs that do not depend on the length."""
        return cls((1, FAR), ((1.0,) * (max_batch + 1),) * 2)

    def ratio(self, length: int, rows: int) -> float:
        """The multiple for a batch of so many rows, which has as many as the profile at most."""
        lengths, ratios = self.lengths, self.ratios
        rows = min(rows, len(ratios[0]) - 1)
        at = bisect_left(lengths, length)
        if at == len(lengths):
            return ratios[-1][rows] * length / lengths[-1]
        if at == 0 or lengths[at] == length:
            return ratios[at][rows]
        low, high = lengths[at - 1], lengths[at]
        below, above = ratios[at - 1][rows], ratios[at][rows]
        return below + (above - below) * (length - low) / (high - low)

    def at(self, candidate: Candidate, length: int) -> Candidate:
        """The candidate as it is for batches of this length; the way to the worker stays."""
        path_s = candidate.path_s
        factors = [0.0, *(self.ratio(length, rows) for rows in range(1, candidate.max_batch + 1))]

        def scaled(times_s: tuple[float, ...]) -> tuple[float, ...]:
            longer = [(s - path_s) * factor + path_s for s, factor in zip(times_s, factors, strict=True)]
            return (0.0, *accumulate(longer[1:], max)) if longer else ()

        mean_s, result_s = (scaled(each) if each else () for each in (candidate.mean_s, candidate.result_s))
        return replace(candidate, latency_s=scaled(candidate.latency_s), mean_s=mean_s, result_s=result_s, follow_s=())


CostsByVariant = Mapping[str, LengthCosts]

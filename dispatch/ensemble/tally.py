"""The vote on one row as it comes in, member by member."""

from collections.abc import Sequence
from math import exp

from dispatch.ensemble.voting import NOBODY

Rows = Sequence[Sequence[float]]
"""Weights [classes][members], none of them negative."""


class Tally:
    """Sums of weights by class; says the same as `dispatch.ensemble.voting.vote` of those that voted.

    ``weights`` stay the same for the whole vote.
    """

    __slots__ = ("_largest", "_sums", "_weights")

    def __init__(self, weights: Rows) -> None:
        self._weights = weights
        self._sums: dict[int, float] = {}
        self._largest: dict[int, float] = {}

    def add(self, member: int, predicted: int) -> None:
        """A member, named by its column, votes for a class. Raises IndexError for a class that there is not."""
        if predicted < 0:
            raise IndexError(f"class {predicted}; classes are numbered from 0")
        weight = self._weights[predicted][member]
        self._sums[predicted] = self._sums.get(predicted, 0.0) + weight
        self._largest[predicted] = max(self._largest.get(predicted, 0.0), weight)

    @property
    def leader(self) -> int:
        """The class that leads, `NOBODY` before the first vote."""
        sums = self._sums
        if not sums:
            return NOBODY
        most = max(sums.values())
        leading = [label for label, total in sums.items() if most - total <= 1e-12 * max(1.0, most)]
        if len(leading) == 1:
            return leading[0]
        return min(leading, key=lambda label: (-self._largest[label], label))

    @property
    def margin(self) -> float:
        """By how much the leader leads the next class, or nothing where no other class was named."""
        totals = sorted(self._sums.values())
        if not totals:
            return 0.0
        return totals[-1] - (totals[-2] if len(totals) > 1 else 0.0)

    @property
    def confidence(self) -> float:
        """Probability that the leader is right if members were independent, 0 before the first vote.

        Members are not, so that this is too high: a proxy where the truth is not known.
        """
        sums = self._sums
        if not sums:
            return 0.0
        most = max(sums.values())
        unnamed = (len(self._weights) - len(sums)) * exp(-most)
        return 1.0 / (unnamed + sum(exp(total - most) for total in sums.values()))

    def shares(self) -> dict[int, float]:
        """The share of all weights that each class has that was named."""
        total = sum(self._sums.values())
        if total <= 0.0:
            return dict.fromkeys(self._sums, 1.0 / max(1, len(self._sums)))
        return {label: weight / total for label, weight in self._sums.items()}

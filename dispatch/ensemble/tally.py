"""The vote on one row as it comes in, member by member."""

from collections.abc import Sequence
from math import exp, log

from dispatch.ensemble.voting import NOBODY

MANY = 64
"""Classes from which on those that nobody named are left out of likelihoods."""

MOST_ODDS = 700.0
"""Logarithm of the largest odds that a float holds, nearly."""

BEHIND = log(1.0 - 1e-6)
"""Logarithm of what other classes have of the leader's odds at most: less, also as 32-bit floats."""

Rows = Sequence[Sequence[float]]
"""Weights [classes][members], none of them negative."""


class Tally:
    """Sums of weights by class; says the same as `dispatch.ensemble.voting.vote` of those that voted.

    ``weights``, and what classes lose ``against`` members that name others, stay the same for the whole vote.
    """

    __slots__ = ("_against", "_largest", "_sums", "_voted", "_weights")

    def __init__(self, weights: Rows, against: Rows | None = None) -> None:
        self._weights = weights
        self._against = against
        self._sums: dict[int, float] = {}
        self._largest: dict[int, float] = {}
        self._voted: list[int] = []

    def add(self, member: int, predicted: int) -> None:
        """A member, named by its column, votes for a class. Raises IndexError for a class that there is not."""
        if predicted < 0:
            raise IndexError(f"class {predicted}; classes are numbered from 0")
        sums, weight = self._sums, self._weights[predicted][member]
        if self._against is not None:
            for label in sums:
                if label != predicted:
                    sums[label] += self._against[label][member]
            if predicted not in sums:
                against = self._against[predicted]
                sums[predicted] = sum([against[other] for other in self._voted])
            self._voted.append(member)
        sums[predicted] = sums.get(predicted, 0.0) + weight
        self._largest[predicted] = max(self._largest.get(predicted, 0.0), weight)

    @property
    def leader(self) -> int:
        """The class that leads, `NOBODY` before the first vote."""
        sums = self._sums
        if not sums:
            return NOBODY
        most = max(sums.values())
        leading = [label for label, total in sums.items() if most - total <= 1e-12 * max(1.0, abs(most))]
        if len(leading) == 1:
            return leading[0]
        return min(leading, key=lambda label: (-self._largest[label], label))

    @property
    def margin(self) -> float:
        """By how much the leader leads the next class, and classes that nobody named, whose sum counts as 0."""
        totals = sorted(self._sums.values())
        if not totals:
            return 0.0
        return max(totals[-1] - max(totals[-2] if len(totals) > 1 else 0.0, 0.0), 0.0)

    @property
    def confidence(self) -> float:
        """Probability that the leader is right if members were independent, 0 before the first vote.

        Members are not, so that this is too high: a proxy where the truth is not known.
        """
        sums = self._sums
        if not sums:
            return 0.0
        most = max(sums.values())
        unnamed = (len(self._weights) - len(sums)) * exp(min(-most, MOST_ODDS))
        return 1.0 / (unnamed + sum(exp(total - most) for total in sums.values()))

    def shares(self) -> dict[int, float]:
        """How likely each class is, if members were independent, but none as likely as the leader; sums to 1.

        Of more than `MANY` classes only those that were named. A class that nobody named may be likelier than all that
        were, and does not lead.
        """
        sums, leader = dict(self._sums), self.leader
        if self._against is not None and len(self._weights) <= MANY:
            for label, against in enumerate(self._against):
                if label not in sums:
                    sums[label] = sum([against[member] for member in self._voted])
        most = sums.get(leader, 0.0)
        odds = {label: 1.0 if label == leader else exp(min(total - most, BEHIND)) for label, total in sums.items()}
        return {label: each / sum(odds.values()) for label, each in odds.items()}

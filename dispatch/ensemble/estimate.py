"""How often a vote is right: estimated from the accuracies of members, or counted on recorded votes."""

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from catalog.votes import RecordedVotes
from dispatch.ensemble.weights import ClassWeights

FOLDS = 5
"""Rows are voted on with weights learned from the other folds, so that none is judged by what it taught."""

NOT_NAMED_32 = -1e30
"""Less than any sum, in single precision."""

MAX_ROWS = 3000
"""Recorded rows that are looked at; more are drawn from, since sets of members are tried by the thousand."""

DRAW_SEED = 17


def binomial_accuracy(members: int, accuracy: float) -> float:
    """Probability that more than half of so many members are right, each of them with this probability and
    independently of the others (Cocktail, section 4.1).

    Too high for real members, whose errors go together. Raises ValueError without members.
    """
    if members < 1:
        raise ValueError(f"{members} members; a vote needs at least 1")
    needed = members // 2 + 1
    right = (comb(members, n) * accuracy**n * (1.0 - accuracy) ** (members - n) for n in range(needed, members + 1))
    return min(1.0, sum(right))


def independent_accuracy(accuracies: Mapping[str, float], members: Sequence[str]) -> float:
    """`binomial_accuracy` of the least accurate of the members, as the paper uses it."""
    return binomial_accuracy(len(members), min(accuracies[name] for name in members))


class JointVotes:
    """Recorded votes as sets of members are judged by: which rows a weighted vote of the set gets right.

    Members are not independent, and this counts how they are right and wrong together. A set is a bit mask over
    ``members``; ``labels`` are those of the rows that are looked at.
    """

    def __init__(self, votes: RecordedVotes) -> None:
        if votes.rows > MAX_ROWS:
            drawn = np.random.Generator(np.random.PCG64(DRAW_SEED)).choice(votes.rows, MAX_ROWS, replace=False)
            judged = votes.take(np.sort(drawn))
        else:
            judged = votes
        self.members = votes.members
        self.labels = judged.labels
        self._predictions = judged.predictions
        self._same = judged.predictions[:, :, None] == judged.predictions[:, None, :]
        self._brings = _held_out_votes(judged, self._same)

    def outcome(self, mask: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Class and margin of every row [rows] under the weighted vote of a set that is not empty."""
        chosen = np.array([bool(mask >> bit & 1) for bit in range(len(self.members))])
        sums = np.where(chosen, self._brings @ chosen.astype(np.float32), np.float32(NOT_NAMED_32))
        rows = np.arange(len(sums))
        leader = sums.argmax(axis=1)
        rival = np.where(self._same[rows, leader] | ~chosen, 0.0, sums).max(axis=1)
        return self._predictions[rows, leader], np.maximum(sums[rows, leader] - rival, 0.0)

    def accuracy(self, members: Sequence[str]) -> float:
        """Share of rows that the weighted vote of these members gets right; raises ValueError for an unknown one."""
        classes, _ = self.outcome(mask_of(self.members, members))
        return float((classes == self.labels).mean())


def mask_of(members: Sequence[str], chosen: Sequence[str]) -> int:
    """The bit mask of a set; raises ValueError for a name that is none of the members."""
    return sum(1 << members.index(name) for name in chosen)


def _held_out_votes(votes: RecordedVotes, same: NDArray[np.bool_]) -> NDArray[np.float32]:
    """What each member's vote brings to the class that each member named [rows, members that named, members].

    By weights that are learned from the folds that the row is not in.
    """
    fold = np.arange(votes.rows) % FOLDS
    brings = np.empty(same.shape, np.float32)
    for each in range(FOLDS):
        inside, outside = np.flatnonzero(fold == each), np.flatnonzero(fold != each)
        weights = ClassWeights.learned(votes.take(outside if outside.size else inside))
        said = votes.predictions[inside]
        own = weights.matrix[said, np.arange(len(votes.members))]
        brings[inside] = np.where(same[inside], own[:, None, :], weights.against[said])
    return brings

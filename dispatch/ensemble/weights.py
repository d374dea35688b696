"""How good each member is at each class, learned from labelled votes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.votes import RecordedVotes
from dispatch.ensemble.voting import ABSENT, Classes, Weights

PRIOR_ROWS = 4.0
"""So many rows of each class are taken to have been seen with the member's own accuracy before the first one."""

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class VoteCounts:
    """What members said of labelled rows, each [classes, members].

    ``seen``: rows of the class that the member voted on; ``right``: of those, the ones that it got right; ``said``:
    rows of any class that it took for this one. Counts of several routers, or of several days, are added.
    """

    seen: Counts
    right: Counts
    said: Counts

    @classmethod
    def none(cls, classes: int, members: int) -> "VoteCounts":
        """Nothing was seen."""
        return cls(*(np.zeros((classes, members)) for _ in range(3)))

    @classmethod
    def of(cls, labels: Classes, predictions: Classes, classes: int) -> "VoteCounts":
        """Counts of ``labels`` [rows] and ``predictions`` [rows, members], `ABSENT` for members that did not vote."""
        counts = cls.none(classes, predictions.shape[1])
        voted = predictions != ABSENT
        rows, columns = np.nonzero(voted)
        said, true = predictions[rows, columns], labels[rows]
        np.add.at(counts.seen, (true, columns), 1.0)
        np.add.at(counts.said, (said, columns), 1.0)
        hit = said == true
        np.add.at(counts.right, (true[hit], columns[hit]), 1.0)
        return counts

    def __add__(self, other: "VoteCounts") -> "VoteCounts":
        return VoteCounts(self.seen + other.seen, self.right + other.right, self.said + other.said)


class ClassWeights:
    """The weight matrix of a vote, [classes, members].

    The weight of a member's vote for a class is the logarithm of how much likelier it is to name that class where it is
    the true one than where it is not: what makes the vote of independent members the most probable class. Weights are
    at least 0. ``members`` maps each to its own accuracy, which stands in for classes that were hardly seen.
    """

    def __init__(self, members: Mapping[str, float], classes: int, known: VoteCounts | None = None) -> None:
        if classes < 2:
            raise ValueError(f"{classes} classes; a vote needs at least 2")
        self.members = tuple(members)
        self.classes = classes
        self._accuracies = np.clip(np.array(list(members.values())), 0.5 / classes, 1.0 - 1e-3)
        self._counts = VoteCounts.none(classes, len(members)) if known is None else known
        self._derive()

    @classmethod
    def learned(cls, votes: RecordedVotes) -> "ClassWeights":
        """From recorded votes."""
        return cls(votes.accuracies, votes.classes, VoteCounts.of(votes.labels, votes.predictions, votes.classes))

    @property
    def counts(self) -> VoteCounts:
        """What the weights come from."""
        return self._counts

    def put(self, counts: VoteCounts) -> None:
        """All that is known from now on."""
        self._counts = counts
        self._derive()

    def column(self, member: str) -> int:
        """The member's column; raises ValueError for one that is none."""
        return self.members.index(member)

    def _derive(self) -> None:
        counts, classes = self._counts, self.classes
        seen, right = counts.seen + PRIOR_ROWS, counts.right + PRIOR_ROWS * self._accuracies
        self.accuracy: Weights = right / seen
        """Share of the rows of each class that each member gets right."""
        others = counts.seen.sum(axis=0) - counts.seen + PRIOR_ROWS * (classes - 1)
        wrong = counts.said - counts.right + PRIOR_ROWS * (1.0 - self._accuracies)
        self.matrix: Weights = np.maximum(np.log(self.accuracy) - np.log(wrong / others), 0.0)
        """The weights."""
        self.rows: list[list[float]] = self.matrix.tolist()
        """The same as lists, which are read faster one by one; a list stays as it is when others are put."""
        self.largest: list[float] = self.matrix.max(axis=0).tolist()
        """The most that each member may bring to any class."""

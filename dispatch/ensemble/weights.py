"""How good each member is at each class, learned from labelled votes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from catalog.votes import RecordedVotes
from dispatch.ensemble.voting import ABSENT, Classes, Weights

PRIOR_ROWS = 4.0
"""So many rows of each class are taken to have been seen with the member's own accuracy before the first one."""

NEVER = 1e-3
"""No class is taken to be recognised always, or never."""

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
        counts.count(labels, predictions)
        return counts

    def count(self, labels: Classes, predictions: Classes) -> None:
        """Count these rows as well, in place: see `of`."""
        rows, columns = np.nonzero(predictions != ABSENT)
        said, true = predictions[rows, columns], labels[rows]
        np.add.at(self.seen, (true, columns), 1.0)
        np.add.at(self.said, (said, columns), 1.0)
        hit = said == true
        np.add.at(self.right, (true[hit], columns[hit]), 1.0)

    def __add__(self, other: "VoteCounts") -> "VoteCounts":
        return VoteCounts(self.seen + other.seen, self.right + other.right, self.said + other.said)


class ClassWeights:
    """The weight matrix of a vote, [classes, members].

    The weight of a member's vote for a class is the logarithm of how much likelier it is to name that class where it is
    the true one than where it is not, and a class loses by members that name others in the same way: the vote of
    independent members is the most probable class. (Weights alone, as in the paper, put classes at a disadvantage that
    are hard for all members.) ``members`` maps each to its own accuracy, which stands in for classes that were hardly
    seen.
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
        own, spread = self._accuracies, PRIOR_ROWS * (classes - 1)
        # What is expected of a member in a class it was hardly seen in: its own accuracy, shifted by how hard the class
        # is for all, and its own errors, spread as those of all are.
        hard = _ratio(counts.right.sum(axis=1), counts.seen.sum(axis=1), float(own.mean()), PRIOR_ROWS)
        expected = expit(logit(own) + (logit(np.clip(hard, NEVER, 1.0 - NEVER)) - logit(own.mean()))[:, None])
        self.accuracy: Weights = (counts.right + PRIOR_ROWS * expected) / (counts.seen + PRIOR_ROWS)
        """Share of the rows of each class that each member gets right."""
        others, wrong = counts.seen.sum(axis=0) - counts.seen, counts.said - counts.right
        mean_wrong = float(1.0 - own.mean()) / (classes - 1)
        lure = _ratio(wrong.sum(axis=1), others.sum(axis=1), mean_wrong, spread) / mean_wrong
        expected_wrong = np.clip((1.0 - own) / (classes - 1) * lure[:, None], NEVER / classes, 1.0 - NEVER)
        wrongly = (wrong + spread * expected_wrong) / (others + spread)
        right = np.clip(self.accuracy, NEVER, 1.0 - NEVER)
        tells = right > wrongly  # else the member says the class more often where it is not the true one
        self.matrix: Weights = np.where(tells, np.log(right / wrongly), 0.0)
        """What a class gains by the vote of a member: the weights."""
        self.against: Weights = np.where(tells, np.log((1.0 - right) / (1.0 - wrongly)), 0.0)
        """What a class loses by a member that names another one."""
        self.rows: list[list[float]] = self.matrix.tolist()
        """The weights as lists, which are read faster one by one; a list stays as it is when other counts are put."""
        self.against_rows: list[list[float]] = self.against.tolist()
        """What classes lose, as lists."""
        self.largest: list[float] = (self.matrix.max(axis=0) - self.against.min(axis=0)).tolist()
        """The most that each member may change of the lead of one class over another."""


def _ratio(hits: Counts, rows: Counts, prior: float, prior_rows: float) -> NDArray[np.float64]:
    return np.asarray((hits + prior_rows * prior) / (rows + prior_rows))

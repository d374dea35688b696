"""Votes with a known truth: drawn from confusion matrices, and counted in loops that are easy to believe."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from catalog.votes import RecordedVotes
from dispatch.ensemble.voting import ABSENT, NOBODY

Confusion = NDArray[np.float64]
"""Probability of naming a class, [true class, named class]."""


def confusion(accuracies: Sequence[float]) -> Confusion:
    """Right with this probability by class, else any other class alike."""
    classes = len(accuracies)
    made = np.repeat((1.0 - np.array(accuracies))[:, None] / (classes - 1), classes, axis=1)
    np.fill_diagonal(made, accuracies)
    return made


def drawn_votes(members: Mapping[str, Confusion], rows: int, seed: int = 0, together: float = 0.0) -> RecordedVotes:
    """Independent draws, but for a share of the rows on which all members err ``together``, with one class."""
    rng = np.random.default_rng(seed)
    classes = len(next(iter(members.values())))
    labels = rng.integers(0, classes, rows)
    wrong = (labels + rng.integers(1, classes, rows)) % classes
    hard = rng.random(rows) < together
    columns = []
    for matrix in members.values():
        limits = matrix.cumsum(axis=1)[labels]
        said = (rng.random(rows)[:, None] > limits).sum(axis=1).clip(max=classes - 1)
        columns.append(np.where(hard, wrong, said))
    return RecordedVotes(tuple(members), labels, np.stack(columns, axis=1), classes)


def naive_sums(
    said: Sequence[int], weights: Sequence[Sequence[float]], against: Sequence[Sequence[float]] | None = None
) -> dict[int, float]:
    """By class that was named what its members bring it, less what it loses by those that named another one."""
    sums: dict[int, float] = {}
    for label in said:
        if label == ABSENT:
            continue
        sums[label] = 0.0
        for member, other in enumerate(said):
            if other == label:
                sums[label] += weights[label][member]
            elif other != ABSENT and against is not None:
                sums[label] += against[label][member]
    return sums


def naive_vote(
    said: Sequence[int], weights: Sequence[Sequence[float]], against: Sequence[Sequence[float]] | None = None
) -> tuple[int, float, bool]:
    """Class, margin and tie of one row by the words of `vote`: ``said`` by member, the others [classes][members]."""
    sums = naive_sums(said, weights, against)
    if not sums:
        return NOBODY, 0.0, False
    best = max(sums.values())
    leading = [label for label in sums if abs(sums[label] - best) < 1e-9]
    largest = {label: max(weights[label][m] for m, each in enumerate(said) if each == label) for label in leading}
    winner = min(label for label in leading if largest[label] == max(largest.values()))
    next_one = max([0.0, *(total for label, total in sums.items() if label != winner)])
    counts = [list(said).count(label) for label in sums]
    return winner, max(0.0, best - next_one), counts.count(max(counts)) > 1

"""Class-weighted majority voting (Cocktail, section 4.1.1), for many rows at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ABSENT = -1
"""The prediction of a member that gave none."""

NOBODY = -1
"""The class where no member voted."""

Classes = NDArray[np.int64]
Weights = NDArray[np.float64]


NOT_NAMED = -1e300
"""The sum of a class that no member named."""


class Votes(NamedTuple):
    """What votes came to, row by row."""

    classes: Classes  # [rows], `NOBODY` where all were absent
    margins: Weights  # [rows], by how much the class leads the next one
    tied: NDArray[np.bool_]  # [rows], whether several classes had as many votes as the most, whatever their weights


def vote(predictions: Classes, weights: Weights, against: Weights | None = None) -> Votes:
    """The class with the largest sum of the weights of those that voted for it, less those of who voted otherwise.

    ``predictions`` are [rows, members], `ABSENT` for none; ``weights`` are [classes, members], none of them negative;
    ``against``, of the same shape and none of them positive, is what a class loses by a member that names another one,
    nothing where it is not given. Of classes with equal sums that with the largest single weight wins, of those the one
    with the lowest number.
    """
    rows, members = predictions.shape
    if members == 0 or rows == 0:
        nobody = np.full(rows, NOBODY, np.int64)
        return Votes(nobody, np.zeros(rows), np.zeros(rows, np.bool_))
    present = predictions != ABSENT
    own = np.where(present, weights[predictions, np.arange(members)], 0.0)
    same = (predictions[:, :, None] == predictions[:, None, :]) & present[:, None, :] & present[:, :, None]
    gained = np.einsum("rij,rj->ri", same, own)
    if against is not None:
        lost = ~same & present[:, None, :] & present[:, :, None]
        gained += np.einsum("rij,rij->ri", lost, against[predictions])
    sums = np.where(present, gained, NOT_NAMED)
    most = sums.max(axis=1, keepdims=True)
    leads = present & (most - sums <= 1e-12 * np.maximum(1.0, np.abs(most)))
    largest = np.where(leads, np.where(same, own[:, None, :], -1.0).max(axis=2), -1.0)
    leads &= largest == largest.max(axis=1, keepdims=True)
    classes = np.where(leads, predictions, np.iinfo(np.int64).max).min(axis=1)
    others = np.where(present & (predictions != classes[:, None]), sums, 0.0).max(axis=1)
    counts = same.sum(axis=2)
    fewest_of_most = np.where(present & (counts == counts.max(axis=1, keepdims=True)), predictions, -2)
    top = fewest_of_most.max(axis=1)
    tied = ((fewest_of_most != -2) & (fewest_of_most != top[:, None])).any(axis=1)
    nobody_voted = ~present.any(axis=1)
    return Votes(
        np.where(nobody_voted, NOBODY, classes),
        np.where(nobody_voted, 0.0, np.maximum(sums.max(axis=1) - others, 0.0)),
        tied & ~nobody_voted,
    )

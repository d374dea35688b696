"""Votes of members of which only the accuracy by class is known.

The sampling model, for want of recorded predictions:

1. Every image has a class, all equally likely, and a difficulty z, a standard normal that all members share.
2. Member m has x_m = sqrt(correlation) z + sqrt(1 - correlation) e_m with its own standard normal e_m, and is right
   where x_m is below the quantile of its accuracy in the image's class (a Gaussian copula): each member has exactly its
   accuracy in each class, and errors come together.
3. A class is confused with `CONFUSABLE` others, the same for all members, the likelier ones first (weights 1, 1/2,
   1/3...). An image looks most like one of these; a member that is wrong says that one with probability `LURED`, and
   else another of them by their weights.
"""

import numpy as np
from scipy.special import ndtri

from benchmarks.cocktail.votes.class_accuracy import ClassAccuracy
from catalog.votes import RecordedVotes

CONFUSABLE = 5
"""Classes that a class is taken for. Top-5 accuracies of such models are 90 to 96%, so that few errors are wider."""

LURED = 0.6
"""How often a wrong member follows the class that an image looks most like, beyond what the weights give anyway.

Two that are both wrong then say the same in 54% of all cases.
"""

CORRELATION = 0.6
"""At this one the plain majority of the ten smaller models of Table 1 is 1.4 points better than the largest alone.

Section 2.3.1 has up to 1.65 points. At 0.8 there is nothing left of that.
"""


def draw_votes(class_accuracy: ClassAccuracy, rows: int, seed: int, correlation: float = CORRELATION) -> RecordedVotes:
    """Draw ``rows`` images and what each member says of them.

    ``correlation`` of the members' latent errors is from 0, where they know nothing of each other, to below 1. Raises
    ValueError for another.
    """
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation is {correlation:g}; give a number from 0 to below 1")
    rng = np.random.default_rng(seed)
    classes, members = class_accuracy.correct.shape
    confusable = _confusable(classes, rng)
    labels = rng.integers(classes, size=rows)
    difficulty = rng.standard_normal((rows, 1))
    latent = np.sqrt(correlation) * difficulty + np.sqrt(1 - correlation) * rng.standard_normal((rows, members))
    right = latent < ndtri(class_accuracy.correct)[labels]
    weights = np.cumsum(1 / np.arange(1, confusable.shape[1] + 1))
    upto = weights / weights[-1]
    looks_like = np.searchsorted(upto, rng.random((rows, 1)))
    own = np.searchsorted(upto, rng.random((rows, members)))
    wrong = np.where(rng.random((rows, members)) < LURED, looks_like, own)
    said = np.where(right, labels[:, None], confusable[labels[:, None], wrong])
    return RecordedVotes(class_accuracy.members, labels, said, classes)


def _confusable(classes: int, rng: np.random.Generator) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    """[classes, kinds]: neighbours on a ring of shuffled classes, the nearest first, so that it goes both ways."""
    kinds = min(CONFUSABLE, classes - 1)
    ring = rng.permutation(classes)
    place = np.argsort(ring)
    steps = [(step // 2 + 1) * (1 if step % 2 == 0 else -1) for step in range(kinds)]
    return np.column_stack([ring[(place + step) % classes] for step in steps])

"""What a new project learns and is tried on: scikit-learn's handwritten digits, 8 x 8 pixels."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

SEED = 0
HELD_OUT = 0.4
SIDE = 8


def write_digits(weights: Path, labelled: Path) -> int:
    """Learn from a part of the digits, keep what was learned in ``weights``, and the others in ``labelled``.

    Gives the number of these. ``weights`` has ``weights`` [64, 10] and ``bias`` [10] of a logistic regression, and what
    it learned from: ``images`` [n, 64] and ``digits`` [n]. ``labelled`` has ``image`` [m, 8, 8], 0 to 16, and ``label``
    [m].
    """
    pixels, digits = load_digits(return_X_y=True)
    images = pixels.astype(np.float32)
    known, unseen, known_digits, unseen_digits = train_test_split(
        images, digits, test_size=HELD_OUT, random_state=SEED, stratify=digits
    )
    fitted = LogisticRegression(C=0.001, max_iter=1000).fit(known, known_digits)
    np.savez_compressed(
        weights,
        weights=fitted.coef_.T.astype(np.float32),
        bias=fitted.intercept_.astype(np.float32),
        images=known,
        digits=known_digits,
    )
    np.savez_compressed(labelled, image=unseen.reshape(-1, SIDE, SIDE), label=unseen_digits.astype(np.int64))
    return len(unseen)

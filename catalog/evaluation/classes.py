"""Per-class figures, and what variants get right together."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Classes = NDArray[np.int64]


def confusion(labels: Classes, said: Classes, classes: int) -> NDArray[np.int64]:
    """How often each true class (row) was taken for each class (column)."""
    return np.bincount(labels * classes + said, minlength=classes * classes).reshape(classes, classes)


def class_figures(matrix: NDArray[np.int64], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and number of examples by class, of a confusion matrix; 0 where there is nothing."""
    hit, true, named = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    return {
        name: {
            "precision": _share(hit[index], named[index]),
            "recall": _share(hit[index], true[index]),
            "f1": _share(2 * hit[index], true[index] + named[index]),
            "examples": int(true[index]),
        }
        for index, name in enumerate(names)
    }


def together(said: Mapping[str, Classes], labels: Classes) -> dict[str, dict[str, dict[str, float]]]:
    """By pair of variants the share of examples that ``both`` get right and on which they ``agree``."""
    rows = len(labels)
    return {
        one: {
            other: {
                "both_right": _share(int(((ours == labels) & (theirs == labels)).sum()), rows),
                "agree": _share(int((ours == theirs).sum()), rows),
            }
            for other, theirs in said.items()
            if other != one
        }
        for one, ours in said.items()
    }


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0

"""How sure figures are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from benchmarks.ensemble.systems import Run, Systems, distinct
from dispatch.ensemble.voting import vote

CONFIDENCE = 0.95


def interval(right: float, rows: int) -> list[float]:
    """Wilson's interval of a share, in percent."""
    found = binomtest(round(right * rows), rows).proportion_ci(CONFIDENCE, method="wilson")
    return [round(100.0 * float(found.low), 3), round(100.0 * float(found.high), 3)]


def mcnemar(ours: Run, theirs: Run) -> dict[str, Any]:
    """McNemar's exact test of two systems on the same rows: ``p_value`` that they are equally often right."""
    only_ours = int(((ours.right > 0.5) & (theirs.right <= 0.5)).sum())
    only_theirs = int(((theirs.right > 0.5) & (ours.right <= 0.5)).sum())
    differ = only_ours + only_theirs
    p_value = float(binomtest(only_ours, differ).pvalue) if differ else 1.0
    return {"only_ours_right": only_ours, "only_theirs_right": only_theirs, "p_value": p_value}


def ties(systems: Systems) -> dict[str, Any]:
    """Rows on which several classes have as many plain votes as the most, and how often each rule breaks them right.

    By chance, by the members' accuracies whatever the class, by their accuracies in the class, and by class weights;
    ``possible_right_pct`` is how often
    the truth is among the tied classes at all.
    """
    test = systems.test
    names, counts = distinct(test.predictions)
    among = counts == counts.max(axis=1, keepdims=True)
    rows = among.sum(axis=1) > 1
    total = int(rows.sum())
    if not total:
        return {"rows": 0, "share_pct": 0.0}
    truth = test.labels[:, None]
    possible = (among & (names == truth)).any(axis=1)[rows]
    by_class = vote(test.predictions, *systems.rule).classes
    by_class_accuracy = vote(test.predictions, systems.weights.accuracy).classes
    own = np.array([systems.dev.accuracies[name] for name in test.members])
    by_accuracy = _broken(names, among, own[None, :] + 0.0 * test.predictions, test.predictions)
    return {
        "rows": total,
        "share_pct": 100.0 * float(rows.mean()),
        "possible_right_pct": 100.0 * float(possible.mean()),
        "plain_right_pct": 100.0 * float((possible / among.sum(axis=1)[rows]).mean()),
        "accuracy_weighted_right_pct": 100.0 * float((by_accuracy == test.labels)[rows].mean()),
        "class_accuracy_right_pct": 100.0 * float((by_class_accuracy == test.labels)[rows].mean()),
        "class_weighted_right_pct": 100.0 * float((by_class == test.labels)[rows].mean()),
    }


def _broken(
    names: NDArray[np.int64],
    among: NDArray[np.bool_],
    own: NDArray[np.float64],
    predictions: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Of the tied classes of each row the one with the largest sum of these weights [rows, members]."""
    same = predictions[:, :, None] == predictions[:, None, :]
    sums = np.where(among, np.einsum("rij,rj->ri", same, own), -1.0)
    return np.asarray(names[np.arange(len(names)), sums.argmax(axis=1)])

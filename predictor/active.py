"""Which configurations to measure next (section 5 of the paper, active learning)."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from predictor.configuration import Configuration
from predictor.predictor import SlowdownPredictor

MOST_COMPARED = 800
"""Candidates, and as many of what is measured; of more, so many are drawn, or as many as are wanted: covariances take
memory and time in proportion to the square."""


@runtime_checkable
class KnowsCovariance(Protocol):
    """A predictor that can say which of its errors go together."""

    def posterior(self, configurations: Sequence[Configuration]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Covariance of the errors of all variants of the configurations, and the variance that a measurement has."""
        ...


def next_configurations(
    predictor: SlowdownPredictor,
    candidates: Sequence[Configuration],
    count: int,
    seed: int,
    measured: Sequence[Configuration] = (),
) -> list[Configuration]:
    """``count`` of the candidates to measure next, with those ``measured`` to be predicted as well.

    Where the predictor knows which of its errors go together: those that tell most of all candidates and of what is
    measured (Cohn, 1996), each with account of what those before will tell. Otherwise those that it is least sure of
    (uncertainty sampling), by the mean variance of a configuration's slowdowns: for a forest, how far its trees
    disagree.
    """
    if not candidates or count < 1:
        return []
    rng = np.random.default_rng(seed)
    most = max(MOST_COMPARED, count)
    if len(candidates) > most:
        candidates = [candidates[i] for i in rng.permutation(len(candidates))[:most]]
    wanted = min(count, len(candidates))
    if isinstance(predictor, KnowsCovariance):
        known = [measured[i] for i in rng.permutation(len(measured))[:most]]
        return _one_after_the_other(predictor, candidates, known, wanted)
    ends = np.cumsum([each.degree for each in candidates])
    starts = ends - [each.degree for each in candidates]
    variance = predictor.predict(candidates).deviation ** 2
    unsure = np.add.reduceat(variance, starts) / (ends - starts)
    return [candidates[i] for i in np.argsort(-unsure, kind="stable")[:wanted]]


def _one_after_the_other(
    predictor: KnowsCovariance, candidates: Sequence[Configuration], known: Sequence[Configuration], count: int
) -> list[Configuration]:
    """Each is the one that takes most from the variance of all together."""
    covariance, noise = predictor.posterior([*candidates, *known])
    left = covariance.copy()
    degrees = np.array([each.degree for each in candidates])
    rows = int(degrees.sum())
    starts = np.cumsum(degrees) - degrees
    chosen: list[int] = []
    for _ in range(count):
        gain = np.einsum("ij,ij->j", left, left) / (np.diag(left) + noise)
        gains = np.add.reduceat(gain[:rows], starts)
        gains[chosen] = -np.inf
        best = int(np.argmax(gains))
        chosen.append(best)
        for row in range(starts[best], starts[best] + degrees[best]):
            told = left[row] / np.sqrt(left[row, row] + noise[row])
            left -= np.outer(told, told)
    return [candidates[i] for i in chosen]

"""Which configurations to measure next (section 5 of the paper, active learning)."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dgemm

from predictor.configuration import Configuration
from predictor.predictor import SlowdownPredictor

MOST_COMPARED = 800
"""Candidates, and as many of what is measured; of more, so many are drawn, or as many as are wanted."""

MOST_ROWS = 2400
"""Variants of all that are compared, of candidates and of what is measured, half of them each where there are as many:
covariances take memory and time in proportion to the square."""


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
    disagree. Of many candidates and many that are measured some are drawn, by ``seed``, to be compared.
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
        return _one_after_the_other(predictor, *_of_few_rows(candidates, known, wanted, rng), wanted)
    ends = np.cumsum([each.degree for each in candidates])
    starts = ends - [each.degree for each in candidates]
    variance = predictor.predict(candidates).deviation ** 2
    unsure = np.add.reduceat(variance, starts) / (ends - starts)
    return [candidates[i] for i in np.argsort(-unsure, kind="stable")[:wanted]]


def _of_few_rows(
    candidates: Sequence[Configuration], known: Sequence[Configuration], wanted: int, rng: np.random.Generator
) -> tuple[Sequence[Configuration], Sequence[Configuration]]:
    """Of both no more than `MOST_ROWS` together, but at least as many candidates as are wanted."""
    of_known = _rows(known)
    if _rows(candidates) + of_known <= MOST_ROWS:
        return candidates, known
    drawn = [candidates[i] for i in rng.permutation(len(candidates))]
    kept = drawn[: max(wanted, _first_of(drawn, MOST_ROWS - min(of_known, MOST_ROWS // 2)))]
    return kept, known[: _first_of(known, MOST_ROWS - _rows(kept))]


def _rows(configurations: Sequence[Configuration]) -> int:
    return sum(each.degree for each in configurations)


def _first_of(configurations: Sequence[Configuration], rows: int) -> int:
    """How many of the first configurations have no more than so many rows."""
    return int(np.searchsorted(np.cumsum([each.degree for each in configurations]), rows, side="right"))


def _one_after_the_other(
    predictor: KnowsCovariance, candidates: Sequence[Configuration], known: Sequence[Configuration], count: int
) -> list[Configuration]:
    """Each is the one that takes most from the variance of all together."""
    covariance, noise = predictor.posterior([*candidates, *known])
    left = np.array(covariance, order="C")
    degrees = np.array([each.degree for each in candidates])
    rows = int(degrees.sum())
    starts = np.cumsum(degrees) - degrees
    of_candidates = left[:, :rows]
    chosen: list[int] = []
    for _ in range(count):
        gain = np.einsum("ij,ij->j", of_candidates, of_candidates) / (np.diag(left)[:rows] + noise[:rows])
        gains = np.add.reduceat(gain, starts)
        gains[chosen] = -np.inf
        best = int(np.argmax(gains))
        chosen.append(best)
        own = slice(starts[best], starts[best] + degrees[best])
        factor = np.linalg.cholesky(left[own, own] + np.diag(noise[own]))
        told = solve_triangular(factor, left[own], lower=True)
        dgemm(-1.0, told, told, beta=1.0, c=left.T, trans_a=True, overwrite_c=True)  # left -= told.T @ told, in place
    return [candidates[i] for i in chosen]

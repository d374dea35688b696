"""Other runs of the same trace: as many queries, as far apart from each other, in another order within a second."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WINDOW_S = 1.0


def shuffled(arrivals_s: Mapping[str, Floats], seed: int) -> dict[str, Floats]:
    """The gaps between each type's queries of one second in another order; seed 0 is the trace as recorded.

    ``arrivals_s`` is ascending. The last query of a type in each second stays where it is, and those before it come in
    between: the load stays, even arrivals stay even, and which queries of different types come together changes. The
    first query after a second without any stays as well, so that none comes before what was a pause.
    """
    if not seed:
        return dict(arrivals_s)
    rng = np.random.default_rng(seed)
    return {name: _shuffled(of, rng) for name, of in arrivals_s.items()}


def _shuffled(of: Floats, rng: np.random.Generator) -> Floats:
    if not len(of):
        return of
    gaps = np.diff(of, prepend=0.0)
    second = (of // WINDOW_S).astype(np.intp)
    place = rng.random(len(of))
    place[np.diff(second, prepend=0) > 1] = -1.0  # the gap before it is a pause, and stays in front
    order = np.lexsort((place, second))
    moved: Floats = np.minimum(np.cumsum(gaps[order]), of[-1])
    return moved

"""The check digit of a number, by H. M. Damm's totally anti-symmetric quasigroup of order 10.

H. Michael Damm, "Total anti-symmetrische Quasigruppen", dissertation, Marburg 2004, page 111. The check digit finds
every wrong digit and every two neighbours that were swapped. A number is read from left to right: a state goes from 0
through ``TABLE[state][digit]``, and the number is valid if it ends in 0.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

TABLE = np.array(
    [
        [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
        [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
        [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
        [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
        [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
        [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
        [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
        [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
        [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
        [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
    ],
    dtype=np.int64,
)
"""The next state, by state and digit. Every row and every column has each state once; the diagonal is 0."""


def state_after(digits: Iterable[int]) -> int:
    """Where the state ends; also the check digit of ``digits``, since the diagonal of `TABLE` is 0."""
    state = 0
    for digit in digits:
        state = int(TABLE[state, digit])
    return state


def states_after(digits: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """`state_after` of the first ``lengths`` [N] of each row of ``digits`` [N, D]: [N]."""
    states = np.zeros(len(digits), dtype=np.int64)
    for position in range(digits.shape[1]):
        counted = position < lengths
        states = np.where(counted, TABLE[states, np.where(counted, digits[:, position], 0)], states)
    return states

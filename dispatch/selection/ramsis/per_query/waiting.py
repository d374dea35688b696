"""What it is worth to wait for the next query instead of launching."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dispatch.selection.ramsis.per_query.ages import Ages
from dispatch.selection.ramsis.per_query.turns import Turn

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LEAST_GAIN = 1e-3
"""Of a query answered right: who waits for less only answers later. Where one variant is left, or the best one has time
for all, waiting and launching are worth the same but for rounding, and a lone query was held for nearly all of its
objective."""

NEGLIGIBLE = 1e-12
DENSE = 0.25
"""From this share of entries on a matrix is multiplied as a dense one."""


class Waiting:
    """Values of the states whose next query is certain to be the worker's own, under the choice of waiting for it.

    With several workers that is the rest of a group, of which each query leads on to the next phase. With a single one
    every query is, and leads on to a queue that is longer by one. States may wait where that is ``allowed``,
    [bin, rows - 1].
    """

    def __init__(self, load_qps: float, turn: Turn, ages: Ages, allowed: Bools) -> None:
        self._allowed = allowed[:, :-1]
        self._turn = turn
        self._mean_s = 1.0 / load_qps
        after = ages.after_exponential(load_qps)
        in_time = np.where(after[:, : ages.timely] > NEGLIGIBLE, after[:, : ages.timely], 0.0)
        sparse = turn.phases > turn.group and np.count_nonzero(in_time) < DENSE * in_time.size
        self._in_time = csr_array(in_time) if sparse else in_time
        self._too_late = after[:, ages.timely :].sum(axis=1)

    def values(
        self, own: Floats, passed: Floats, hopeless: Floats, gain: float, holds: Bools | None = None
    ) -> tuple[Floats, Bools]:
        """Values of the worker's own states and whether they wait, both as [bin, rows - 1, phase].

        ``own`` are the values of launching, and ``passed``, [bin, rows - 1], those in the phase after the group (not
        used where there is none); ``hopeless`` those of late queues, [rows - 1, phase]. States wait where ``holds``
        says so; without it, where that is allowed and worth more by `LEAST_GAIN`.
        """
        own = own.copy()
        held = np.zeros(own.shape, dtype=bool)
        if self._turn.phases > self._turn.group:
            following = passed
            for phase in range(self._turn.group - 1, -1, -1):
                if holds is None or holds[:, :, phase].any():
                    waiting = self._waiting(following[:, 1:], hopeless[1:, phase + 1], gain)
                    launched = own[:, :-1, phase]
                    chosen = (
                        self._allowed & (waiting > launched + LEAST_GAIN) if holds is None else holds[:, :-1, phase]
                    )
                    held[:, :-1, phase] = chosen
                    own[:, :-1, phase] = np.where(chosen, waiting, launched)
                following = own[:, :, phase]
        else:
            self._one_by_one(own, held, hopeless, gain, holds)
        return own, held

    def _waiting(self, then: Floats, late: Floats, gain: float) -> Floats:
        return np.asarray(self._in_time @ then + np.multiply.outer(self._too_late, late) - gain * self._mean_s)

    def _one_by_one(self, own: Floats, held: Bools, hopeless: Floats, gain: float, holds: Bools | None) -> None:
        """From the longest queue down: it can be worth it only where it is for a launch next, or where that waits."""
        lengths, phases = own.shape[1], own.shape[2]
        following = (np.arange(phases) + 1) % phases
        late = hopeless[:, following]
        if holds is None:
            once = self._waiting(own[:, 1:, following].reshape(len(own), -1), late[1:].ravel(), gain)
            once = once.reshape(len(own), lengths - 1, phases)
            worth = np.any((once > own[:, :-1] + LEAST_GAIN) & self._allowed[:, :, None], axis=(0, 2)).tolist()
        else:
            worth = np.any(holds[:, :-1], axis=(0, 2)).tolist()
        longer_waits = False
        for n in range(lengths - 2, -1, -1):
            if not (worth[n] or (longer_waits and holds is None)):
                longer_waits = False
                continue
            waiting = self._waiting(own[:, n + 1][:, following], late[n + 1], gain)
            chosen = (waiting > own[:, n] + LEAST_GAIN) & self._allowed[:, n, None] if holds is None else holds[:, n]
            held[:, n] = chosen
            own[:, n] = np.where(chosen, waiting, own[:, n])
            longer_waits = bool(chosen.any())

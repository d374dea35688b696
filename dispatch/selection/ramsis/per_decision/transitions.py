"""Where a worker's queue stands after a batch: the transition probabilities of RAMSIS, section 4.4.2."""

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.arrivals import ArrivalDistribution

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-16
"""Share of the probability below which a launch is left out where states are counted."""


class Transitions:
    """The queue after launches of known latency, by the phase of the round robin in which they start.

    The worker gets every K-th arrival. In phase f, f arrivals came since its last one, so that the next is K - f away.
    A state is (n, j): n rows wait and the earliest of them has slack ``slack_s[j]``. With x(j) the time from the launch
    to the beginning of slack step j, and F(x, n) the probability that none of the n rows came before x,

        P(n, j | launch, phase) = F(x(j), n) - F(x(j + 1), n),
        F(x, n) = sum over k < K - f of P(k arrivals in x) P(n rows come in the rest | phase f + k),

    which is equation 2 with intervals B (k), C and D joined. The rest is ``slo - slack``, whatever the launch, so that
    its probabilities are one small table; sums over states become sums over (j, k), a matrix product.
    """

    def __init__(
        self,
        latency_s: Floats,
        slack_s: Floats,
        arrivals: ArrivalDistribution,
        workers: int,
        max_rows: int,
    ) -> None:
        slo_s = slack_s[-1]
        self._phases = workers
        before_s = np.maximum(latency_s[:, None] + slack_s - slo_s, 0.0)
        before_s[:, 0] = 0.0  # whatever is later than the objective has no slack either
        self._first_step = np.sum(before_s <= 0.0, axis=1) - 1
        before = arrivals.count_pmf(workers - 1, before_s)
        before[before_s <= 0.0] = 0.0
        self._before = before.reshape(len(latency_s), -1)
        self._rest = row_pmf(arrivals, slo_s - slack_s, workers, max_rows)
        self._whole = row_pmf(arrivals, latency_s, workers, max_rows)
        self._too_many = np.maximum(1.0 - self._whole.sum(axis=2), 0.0)

    def expect(self, value: Floats, empty: float, full: float) -> Floats:
        """Expected value of the next state by launch and phase; ``value[n - 1, j]`` for the states with rows."""
        steps, phases = value.shape[1], self._phases
        rises = np.zeros((steps, 1 + value.shape[0]))
        rises[1:, 1:] = np.diff(value, axis=1).T
        rest = np.zeros((steps, 2 * phases))
        rest[:, :phases] = np.matmul(self._rest, rises[:, :, None])[:, :, 0]
        shifted = np.lib.stride_tricks.sliding_window_view(rest, phases, axis=1)[:, :phases]  # [j, k, f] = rest[j, k+f]
        first = np.concatenate([np.full((len(self._first_step), 1), empty), value[:, self._first_step].T], axis=1)
        expected = self._before @ np.ascontiguousarray(shifted).reshape(steps * phases, phases)
        expected += np.matmul(self._whole, first[:, :, None])[:, :, 0]
        return np.asarray(expected + self._too_many * full)

    def spread(self, mass: Floats) -> tuple[Floats, float, float]:
        """The adjoint of `expect`: probability of each state, of an empty and of a full queue after ``mass``."""
        phases, steps = self._phases, self._rest.shape[0]
        some = np.flatnonzero(mass.max(axis=1) > NEGLIGIBLE * mass.sum())
        mass, before, whole = mass[some], self._before[some], self._whole[some]
        products = np.zeros((steps, phases, 2 * phases))
        products[:, :, :phases] = (before.T @ mass).reshape(steps, phases, phases)
        skewed = products.reshape(steps, -1)[:, : phases * (2 * phases - 1)].reshape(
            steps, phases, -1
        )  # row k moved by k
        rest = skewed.sum(axis=1)[:, :phases]
        none_before = np.matmul(rest[:, None, :], self._rest)[:, 0, 1:]
        states = none_before.copy()
        states[:-1] -= none_before[1:]
        rows = np.matmul(mass[:, None, :], whole)[:, 0, :]
        np.add.at(states, self._first_step[some], rows[:, 1:])
        return states.T, float(rows[:, 0].sum()), float((mass * self._too_many[some]).sum())


def row_pmf(arrivals: ArrivalDistribution, interval_s: Floats, workers: int, max_rows: int) -> Floats:
    """P(n rows join the worker within the interval | phase), as [interval, phase, n up to ``max_rows``]."""
    counts = arrivals.count_pmf((max_rows + 1) * workers - 1, interval_s)
    fewer = np.concatenate([np.zeros((len(interval_s), 1)), np.cumsum(counts, axis=1)], axis=1)  # P(count < k)
    phase = np.arange(workers)[:, None]
    rows = np.arange(max_rows + 1)[None, :]
    low = np.maximum(rows * workers - phase, 0)
    return np.asarray(np.maximum(fewer[:, (rows + 1) * workers - phase] - fewer[:, low], 0.0))

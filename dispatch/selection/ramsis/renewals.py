"""Where a worker's queue stands after a batch when the round robin's phase is known."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import matmul_toeplitz
from scipy.sparse import csr_array

from dispatch.selection.ramsis.ages import Ages
from dispatch.selection.ramsis.arrivals import ArrivalDistribution
from dispatch.selection.ramsis.turns import Turn

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NEGLIGIBLE = 1e-14
"""Probabilities up to this are left out."""

DEVIATIONS = 9.0
"""Counts this many standard deviations above their mean are left out."""


@dataclass(frozen=True, eq=False)
class _Followers:
    """Arrivals after the worker's first one, for launches in ``phases``, and what they make of its queue.

    ``rows[k]`` and ``phase[k]`` are the queue and the phase after k of them.
    """

    phases: Ints
    rows: Ints
    phase: Ints


class Renewals:
    """The queue after a launch, by the phase in which it starts, with the phase at its end.

    The worker's first arrival after a launch in phase p comes with the d-th arrival, d the phase's distance. That
    splits time in two independent parts: until then d arrivals, which fixes the age of the queue at the end of the
    batch, and since then a count of followers within that age, which fixes rows and phase. So one expectation per age
    and starting phase serves all launches. Ages are known by bin; within one, expectations are taken to be linear
    between its ends, at the mean age that a launch and a phase give: no query is made up or lost.
    """

    def __init__(self, arrivals: ArrivalDistribution, turn: Turn, ages: Ages, latency_s: Floats, max_rows: int) -> None:
        self.turn = turn
        self._timely = ages.timely
        self._max_rows = max_rows
        farthest = int(turn.distance.max())
        self._none = arrivals.count_pmf(farthest - 1, latency_s)
        weights = _age_weights(arrivals, turn, ages, latency_s, farthest)  # [launch, d - 1, bin end]
        self._weights = np.where(weights > NEGLIGIBLE, weights, 0.0)
        self._sparse_weights = csr_array(self._weights.reshape(-1, weights.shape[2]))
        longest = ages.edges_s[-1] * arrivals.rate_qps
        burst = float(np.dot(turn.together, np.arange(len(turn.together)) ** 2))
        most = int(longest + DEVIATIONS * np.sqrt(longest * burst) + 20 + len(turn.together))
        self._followers = arrivals.count_pmf(most, ages.edges_s)  # [bin edge, k]
        self._followers[:, -1] += np.maximum(1.0 - self._followers.sum(axis=1), 0.0)
        cumulative = np.cumsum(self._followers[: ages.timely + 1], axis=1)
        self._timely_most = 1 + int(np.argmax(cumulative.min(axis=0) > 1.0 - 1e-12))
        most += turn.overshoot.shape[1]
        self._cases = [
            _Followers(
                np.flatnonzero(turn.after == after),
                turn.rows_after(int(after), most),
                (after + np.arange(most + 1)) % turn.phases,
            )
            for after in np.unique(turn.after)
        ]

    def expect(
        self, timely: Callable[[Ints, Ints], Floats], late: Callable[[Ints, Ints], Floats], idle: Floats
    ) -> Floats:
        """Expected value at the end of each launch, as [launch, phase].

        ``timely(rows, phase)`` and ``late(rows, phase)`` give values of states, the former by timely bin; ``idle`` is
        the value of an empty queue by phase. Queues above ``max_rows`` have the late value of that many rows.
        """
        turn = self.turn
        expected = np.empty((len(self._none), turn.phases))
        for case in self._cases:
            expected[:, case.phases] = self._reached(
                self._values_by_end(case, timely, late), turn.distance[case.phases]
            )
        own = turn.own
        expected[:, own] += self._none[:, :1] * idle[own]
        away = turn.phases - turn.group
        if away:
            passing = np.concatenate([idle[turn.group :], idle[:1], np.zeros(away)])
            toeplitz = passing[:away][::-1], passing[away - 1 : 2 * away]  # row away - 1 - i, column k: passing[i + k]
            expected[:, turn.group :] += matmul_toeplitz(toeplitz, self._none[:, : away + 1].T, check_finite=False)[
                ::-1
            ].T
        return expected

    def first_value(self, timely: Callable[[Ints, Ints], Floats]) -> Floats:
        """Value of the queue at the instant at which it stops being empty, by the phase before."""
        value = np.empty(self.turn.phases)
        for case in self._cases:
            beyond = self.turn.overshoot.shape[1]
            rows = np.minimum(case.rows[:beyond], self._max_rows)
            overshoot = self.turn.overshoot[self.turn.distance[case.phases]]
            value[case.phases] = overshoot @ timely(rows, case.phase[:beyond])[0]
        return value

    def _reached(self, values: Floats, distance: Ints) -> Floats:
        """Value by launch and distance from ``values[bin end, overshoot]``."""
        if not self.turn.single:
            by_distance = values @ self.turn.overshoot[distance].T
            return np.asarray(np.einsum("lde,ed->ld", self._weights[:, distance - 1], by_distance))
        if distance.max() == 1:
            return np.asarray(self._weights[:, 0] @ values)
        return np.asarray((self._sparse_weights @ values[:, 0]).reshape(len(self._none), -1)[:, distance - 1])

    def _values_by_end(
        self, case: _Followers, timely: Callable[[Ints, Ints], Floats], late: Callable[[Ints, Ints], Floats]
    ) -> Floats:
        """Expected value at the lower ends of all bins, then at the upper ones, by overshoot."""
        columns = []
        split, early = self._timely, self._timely_most
        for beyond in range(self.turn.overshoot.shape[1]):
            last = beyond + self._followers.shape[1]
            rows, phase = case.rows[beyond:last], case.phase[beyond:last]
            late_value = late(np.minimum(rows, self._max_rows), phase)
            states = timely(np.minimum(rows[:early], self._max_rows), phase[:early])
            too_many = rows[:early] > self._max_rows
            states[:, too_many] = late_value[:early][too_many]
            lower, upper = (
                np.einsum("bk,bk->b", self._followers[first : split + first, :early], states) for first in (0, 1)
            )
            later = self._followers[split:] @ late_value
            columns.append(np.concatenate([lower, later[:-1], upper, later[1:]]))
        return np.stack(columns, axis=1)


def _age_weights(arrivals: ArrivalDistribution, turn: Turn, ages: Ages, latency_s: Floats, farthest: int) -> Floats:
    """P(age at the end of the launch), as [launch, distance - 1, bin end]: lower ends of all bins, then upper ones.

    The mean time of a d-th arrival within a bin follows from that of the next: for Poisson arrivals the integral of
    time under its density is ``d / rate`` times the probability of the (d + 1)-th (an Erlang distribution's). Where
    several may come at once that holds for instants, hence for the next arrival; farther ones are taken as even.
    """
    until_s = np.maximum(latency_s[:, None] - ages.edges_s[None, :], 0.0)
    fewer = np.cumsum(arrivals.count_pmf(farthest, until_s), axis=2)  # P(count <= d) at d
    within = np.maximum(fewer[:, 1:] - fewer[:, :-1], 0.0)
    here, next_here = within[:, :, :-1], within[:, :, 1:]
    width_s = (ages.high_s - ages.low_s)[None, :, None]
    low_s = ages.low_s[None, :, None]
    if turn.single:
        time_s = np.arange(1, farthest + 1) / arrivals.rate_qps * next_here
    else:
        time_s = here * 0.5 * (until_s[:, 1:] + until_s[:, :-1])[:, :, None]
        instants_qps = arrivals.rate_qps / float(np.dot(turn.together, np.arange(len(turn.together))))
        single = np.exp(-instants_qps * until_s) * (until_s + 1.0 / instants_qps)  # time under the density beyond
        time_s[:, :, 0] = single[:, 1:] - single[:, :-1]
    beyond_s = latency_s[:, None, None] * here - time_s - low_s * here
    high = np.clip(np.divide(beyond_s, width_s, out=np.zeros_like(beyond_s), where=width_s > 0.0), 0.0, here)
    return np.concatenate([here - high, high], axis=1).transpose(0, 2, 1)

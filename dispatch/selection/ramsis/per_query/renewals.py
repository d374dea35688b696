"""Where a worker's queue stands after a batch when the round robin's phase is known."""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.linalg import matmul_toeplitz
from scipy.sparse import csr_array

from dispatch.selection.ramsis.arrivals import ArrivalDistribution
from dispatch.selection.ramsis.per_query.ages import Ages
from dispatch.selection.ramsis.per_query.turns import Turn

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NEGLIGIBLE = 1e-13
"""Probabilities up to this are left out."""

DEVIATIONS = 9.0
"""Counts this many standard deviations above their mean are left out."""

MANY_AWAY = 192
"""From so many phases away from the worker's own ones a product by Fourier transforms is the faster one."""


class Renewals:
    """The queue after a launch, by the phase in which it starts, with the phase at its end.

    The worker's first arrival after a launch in phase p comes with the d-th arrival, d the phase's distance. That
    splits time in two independent parts: until then d arrivals, which fixes the age of the queue at the end of the
    batch, and since then a count of followers within that age, which fixes rows and phase. So one expectation per age
    and starting phase serves all launches. Ages are known by bin; within one, expectations are taken to be linear
    between its ends, at the mean age that a launch and a phase give: no query is made up or lost.

    A state is a bin of age, a number of rows and a phase. ``states`` are those that occur, as flat indices into
    [bin, rows - 1, phase] with ``timely + 1`` bins, of which the last is for all late ones. Queues above ``max_rows``
    are late, with that many rows. `expect` gives the expectation of any values of these states.
    """

    def __init__(
        self, arrivals: ArrivalDistribution, turn: Turn, ages: Ages, durations_s: Floats, max_rows: int
    ) -> None:
        self.turn = turn
        self._max_rows = max_rows
        farthest = int(turn.distance.max())
        self._none = arrivals.count_pmf(farthest - 1, durations_s)
        weights = _age_weights(arrivals, turn, ages, durations_s, farthest)  # [duration, d - 1, bin end]
        weights[weights <= NEGLIGIBLE] = 0.0
        self._next = weights[:, 0]
        self._weights = weights
        self._sparse_weights = csr_array(weights.reshape(-1, weights.shape[2]))
        self._afters, case_of_phase = np.unique(turn.after, return_inverse=True)
        self._phases_of = [np.flatnonzero(case_of_phase == case) for case in range(len(self._afters))]
        self._ends = 2 * len(ages.low_s)
        self._beyond = turn.overshoot.shape[1]
        self.states, self._reach = self._reached_states(arrivals, ages)

    def _reached_states(self, arrivals: ArrivalDistribution, ages: Ages) -> tuple[Ints, csr_array]:
        """States that occur, and the probability of each by case, overshoot, and end of a bin.

        The last rows are the states in which a queue stops being empty, by case and overshoot.
        """
        turn, bins = self.turn, len(ages.low_s)
        longest = ages.edges_s[-1] * arrivals.rate_qps
        burst = float(np.dot(turn.together, np.arange(len(turn.together)) ** 2))
        most = int(longest + DEVIATIONS * np.sqrt(longest * burst) + 20 + len(turn.together))
        followers = arrivals.count_pmf(most, ages.edges_s)  # [bin edge, k]
        followers[:, -1] += np.maximum(1.0 - followers.sum(axis=1), 0.0)
        edge, count = np.nonzero(followers > NEGLIGIBLE)
        share = followers[edge, count]
        lower, upper = edge < bins, edge > 0
        bin_of = np.concatenate([edge[lower], edge[upper] - 1])
        end = np.concatenate([edge[lower], bins + edge[upper] - 1])
        counts = np.concatenate([count[lower], count[upper]])
        shares = np.concatenate([share[lower], share[upper]])
        states = np.concatenate(
            [self._state(ages.timely, bin_of, rows[counts], phase[counts]) for rows, phase in self._cases(most)]
        )
        first = [self._state(ages.timely, np.zeros(1, dtype=np.intp), r[:1], p[:1]) for r, p in self._cases(most)]
        states = np.concatenate([states, *first])
        occurs = np.zeros((ages.timely + 1) * self._max_rows * turn.phases, dtype=bool)
        occurs[states] = True
        column = (np.cumsum(occurs) - 1)[states]
        cases = len(first)
        entries = np.concatenate(
            [np.tile(np.bincount(end, minlength=self._ends), cases), np.ones(cases, dtype=np.intp)]
        )
        share_of = np.concatenate([np.tile(shares, cases), np.ones(cases)])
        begins = np.concatenate([[0], np.cumsum(entries)])  # entries are in the order of ends
        return np.flatnonzero(occurs), csr_array((share_of, column, begins), shape=(len(entries), int(occurs.sum())))

    def _cases(self, most: int) -> Iterator[tuple[Ints, Ints]]:
        """Rows and phase after k followers, by phase after the worker's arrival, and by overshoot within that."""
        for after in self._afters:
            rows = self.turn.rows_after(int(after), most + self._beyond)
            phase = (int(after) + np.arange(len(rows))) % self.turn.phases
            for beyond in range(self._beyond):
                yield rows[beyond:], phase[beyond:]

    def _state(self, timely: int, bin_of: Ints, rows: Ints, phase: Ints) -> Ints:
        late = (bin_of >= timely) | (rows > self._max_rows)
        bins = np.where(late, timely, bin_of)
        return np.asarray((bins * self._max_rows + np.minimum(rows, self._max_rows) - 1) * self.turn.phases + phase)

    def expect(self, values: Floats, idle_cost: Floats) -> Floats:
        """Expected value at the end of each duration, as [duration, phase], from ``values`` of `states`.

        An empty queue has the value of the state in which it stops being empty, less ``idle_cost`` of its phase.
        """
        turn = self.turn
        reached = self._reach @ values
        cases = len(self._afters)
        by_end = reached[: -cases * self._beyond].reshape(cases, self._beyond, self._ends)
        first = reached[-cases * self._beyond :].reshape(cases, self._beyond)
        idle = np.empty(turn.phases)
        expected = np.empty((len(self._none), turn.phases))
        for case, phases in enumerate(self._phases_of):
            distance = turn.distance[phases]
            idle[phases] = turn.overshoot[distance] @ first[case]
            expected[:, phases] = self._until(by_end[case], distance)
        idle -= idle_cost
        own = turn.own
        expected[:, own] += self._none[:, :1] * idle[own]
        if turn.phases > turn.group:
            expected[:, turn.group :] += self._passing(idle)
        return expected

    def _passing(self, idle: Floats) -> Floats:
        """What is expected of an empty queue for which not even the own group has begun, by duration and phase."""
        turn = self.turn
        away = turn.phases - turn.group
        passing = np.concatenate([idle[turn.group :], idle[:1], np.zeros(away)])
        none = self._none[:, : away + 1]
        if away < MANY_AWAY:
            return np.asarray(none @ sliding_window_view(passing, away + 1)[:away].T)
        toeplitz = passing[:away][::-1], passing[away - 1 : 2 * away]  # row away - 1 - i, column k: passing[i + k]
        return np.asarray(matmul_toeplitz(toeplitz, none.T, check_finite=False)[::-1].T)

    def _until(self, by_end: Floats, distance: Ints) -> Floats:
        """Value by duration and distance from ``by_end[overshoot, bin end]``."""
        if not self.turn.single:
            by_distance = by_end.T @ self.turn.overshoot[distance].T
            return np.asarray(np.einsum("lde,ed->ld", self._weights[:, distance - 1], by_distance))
        if distance.max() == 1:
            return np.asarray(self._next @ by_end.T)
        return np.asarray((self._sparse_weights @ by_end[0]).reshape(len(self._none), -1)[:, distance - 1])


def _age_weights(arrivals: ArrivalDistribution, turn: Turn, ages: Ages, durations_s: Floats, farthest: int) -> Floats:
    """P(age at the end of the launch), as [launch, distance - 1, bin end]: lower ends of all bins, then upper ones.

    The mean time of a d-th arrival within a bin follows from that of the next: for Poisson arrivals the integral of
    time under its density is ``d / rate`` times the probability of the (d + 1)-th (an Erlang distribution's). Where
    several may come at once that holds for instants, hence for the next arrival; farther ones are taken as even.
    """
    until_s = np.maximum(durations_s[:, None] - ages.edges_s[None, :], 0.0)
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
    beyond_s = durations_s[:, None, None] * here - time_s - low_s * here
    high = np.clip(np.divide(beyond_s, width_s, out=np.zeros_like(beyond_s), where=width_s > 0.0), 0.0, here)
    return np.concatenate([here - high, high], axis=1).transpose(0, 2, 1)

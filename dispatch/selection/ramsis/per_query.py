"""Our decision process: reward per query, phases known, and waiting allowed (docs/ramsis.md)."""

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.ages import Ages
from dispatch.selection.ramsis.durations import Durations
from dispatch.selection.ramsis.launches import Launches
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.renewals import Renewals
from dispatch.selection.ramsis.slack import slack_grid
from dispatch.selection.ramsis.table import HOLD, DecisionTable
from dispatch.selection.ramsis.turns import Turn

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

DAMPING = 0.8
"""Share of the new value in each sweep; below 1, since the process may be periodic."""

TOLERANCE = 3e-5
"""Largest change of a value relative to the others, in accurate answers, at which they count as settled."""

ROUGH_SWEEPS = 300
ROUGH_TOLERANCE = 1e-3
"""The same where only the order of gains is asked for."""

MAX_SWEEPS = 1000
"""Enough but for loads at the very edge of what can be borne, where a queue hardly forgets."""

MOST_TOGETHER = 64


class QueryProcess:
    """The semi-Markov process of one worker under maximal batching.

    Its gain is the accuracy of timely answers per second. Relative value iteration on the values after launches: the
    state before a launch needs none of its own. The gain moves by the common drift of values, over the time that a
    decision takes at most, until there is none.

    A launch is in time where its ``latency_s`` fits into the slack, and keeps the worker busy for its ``duration_s``.
    """

    def __init__(self, problem: WorkerProblem) -> None:
        self.problem = problem
        self.slack_s = slack_grid(problem)
        self.launches = launches = Launches.of(problem)
        arrivals, rows = problem.arrivals, problem.max_queue_rows
        self.turn = Turn(problem.workers, problem.group, tuple(arrivals.together_pmf(MOST_TOGETHER).tolist()))
        self.ages = Ages.of(self.slack_s, float(launches.duration_s.max()))
        self.durations = Durations.of(launches.duration_s)
        self.renewals = Renewals(arrivals, self.turn, self.ages, self.durations.nodes_s, rows)
        self.wait_s = self.turn.instants / problem.load_qps
        meets = launches.meets(self.slack_s[::-1])
        self.in_time = np.add.reduceat(meets.astype(np.intp), launches.starts, axis=0).T  # [bin, n - 1], fastest first
        most = max(int(self.in_time.max()), 1)
        ranked = launches.starts[None, :] + np.arange(most)[:, None]
        self.exists = (ranked < np.append(launches.starts[1:], len(launches.rows))) & (
            np.arange(most)[:, None] < self.in_time[0]
        )
        self.ranked = np.where(self.exists, ranked, 0)
        self.after_wait = self.ages.after_exponential(problem.load_qps) if self.turn.single else None
        self.best_rank: Ints | None = None
        self.hold: NDArray[np.bool_] | None = None

    def settle(
        self, timely: Floats, tolerance: float = TOLERANCE, enough: float = -np.inf, sweeps: int = MAX_SWEEPS
    ) -> float:
        """Gain per second of rewards for timely launches, under the best policy or that of `freeze`.

        Stops early where the gain is sure to stay below ``enough``: it exceeds the present one by the largest change
        over the shortest decision at most.
        """
        after = np.zeros((len(self.durations.nodes_s), self.turn.phases))
        quickest_s, slowest_s = self.launches.duration_s.min(), self.launches.duration_s.max() + self.wait_s.max()
        gain = 0.0
        for _ in range(sweeps):
            change = self._sweep(after, gain, timely) - after
            low, high = float(change.min()), float(change.max())
            if gain + max(high, 0.0) / quickest_s < enough:
                break
            after += DAMPING * change
            after -= after[0, 0]
            gain += 0.5 * (low + high) / float(slowest_s)
            if high - low < tolerance and abs(high + low) < tolerance:
                break
        return gain

    def freeze(self) -> None:
        """Keep to the decisions of the last sweep from now on."""
        self.best_rank, self.hold = self._last

    def _sweep(self, after: Floats, gain: float, timely: Floats) -> Floats:
        values = self.durations.interpolate(after) - gain * self.launches.duration_s[:, None]
        hopeless = values[self.launches.starts]
        ranked = np.where(self.exists[:, :, None], timely[self.ranked][:, :, None] + values[self.ranked], -np.inf)
        best_rank = self.best_rank
        if best_rank is None:
            best_rank = _running_argmax(ranked)
        best = np.concatenate([hopeless[None], np.take_along_axis(ranked, best_rank, axis=0)])
        own, holds = self._with_waiting(best, hopeless, gain)
        self._last = best_rank, holds

        def timely_value(rows: Ints, phase: Ints) -> Floats:
            states = best[self.in_time[:, rows - 1], rows - 1, phase]
            mine = np.flatnonzero(phase < self.turn.group)
            states[:, mine] = own[:, rows[mine] - 1, phase[mine]]
            return np.asarray(states)

        def late_value(rows: Ints, phase: Ints) -> Floats:
            return np.asarray(hopeless[rows - 1, phase])

        idle = self.renewals.first_value(timely_value) - gain * self.wait_s
        return self.renewals.expect(timely_value, late_value, idle)

    def _with_waiting(self, best: Floats, hopeless: Floats, gain: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Values of states whose next arrival is their own, and whether they wait for it: [bin, n - 1, phase]."""
        lengths, group = self.problem.max_queue_rows, self.turn.group
        own = np.stack([best[self.in_time[:, n], n, :group] for n in range(lengths)], axis=1)
        holds = np.zeros(own.shape, dtype=bool)
        if self.after_wait is not None:
            following = (np.arange(group) + 1) % self.turn.phases
            timely = self.ages.timely
            in_time, too_late = self.after_wait[:, :timely], self.after_wait[:, timely:].sum(axis=1)[:, None]
            for n in range(lengths - 2, -1, -1):
                then = best[self.in_time[:, n + 1], n + 1][:, following]
                inside = following < group
                then[:, inside] = own[:, n + 1, following[inside]]
                waiting = in_time @ then + too_late * hopeless[n + 1, following] - gain / self.problem.load_qps
                waiting[self.in_time[:, n] == 0] = -np.inf
                holds[:, n] = waiting > own[:, n] if self.hold is None else self.hold[:, n]
                own[:, n] = np.where(holds[:, n], waiting, own[:, n])
        return own, holds

    def variants(self) -> NDArray[np.uint8]:
        """The frozen decisions as a table wants them: [n - 1, slack step, phase]."""
        assert self.best_rank is not None
        assert self.hold is not None
        starts = self.launches.starts[None, :, None]
        rank = np.concatenate([np.zeros((1, *self.best_rank.shape[1:]), dtype=np.intp), self.best_rank])
        launch = starts + rank[self.in_time, np.arange(starts.size)]  # [bin, n - 1, phase]
        variant = self.launches.variant[launch].astype(np.uint8)
        variant[:, :, : self.turn.group][self.hold] = HOLD
        return np.ascontiguousarray(variant[::-1].transpose(1, 0, 2))


def rough_accuracy(problem: WorkerProblem, enough: float) -> float:
    """About what `solve_per_query` expects of the problem's group; anything below ``enough`` where that is certain."""
    process = QueryProcess(problem)
    own_qps = problem.load_qps / problem.workers
    rewards = launch_rewards(process.launches)
    return process.settle(rewards, ROUGH_TOLERANCE, enough * own_qps, ROUGH_SWEEPS) / own_qps


def solve_per_query(problem: WorkerProblem) -> DecisionTable:
    """Our policy for the problem's group, with its accuracy and violation rate per query.

    Of the launches whose latency fits into the slack, the problem's ``late_share`` is late all the same, whatever the
    variant. That leaves the best policy and the mean accuracy of answers in time as they are: the expected accuracy
    counts 0 only for launches that do not fit.
    """
    process = QueryProcess(problem)
    launches = process.launches
    gain = process.settle(launch_rewards(launches))
    process.freeze()
    timely_qps = process.settle(launches.rows.astype(np.float64))
    own_qps = problem.load_qps / problem.workers
    timely_rate = min(max(timely_qps / own_qps, 0.0), 1.0)
    accuracy = min(max(gain / own_qps, 0.0), timely_rate * max(problem.accuracies))
    return DecisionTable.of(problem, process.slack_s, process.variants(), None, accuracy, 1.0 - timely_rate)


def launch_rewards(launches: Launches) -> Floats:
    """Accurate answers of each launch in time."""
    return np.asarray(launches.rows * launches.accuracy)


def _running_argmax(values: Floats) -> Ints:
    """Index of the largest of the first r + 1 values along axis 0, for every r; of equals the first."""
    best = np.maximum.accumulate(values, axis=0)
    is_new = np.concatenate([np.ones((1, *values.shape[1:]), dtype=bool), values[1:] > best[:-1]])
    ranks = np.where(is_new, np.arange(len(values))[:, None, None], 0)
    return np.asarray(np.maximum.accumulate(ranks, axis=0))

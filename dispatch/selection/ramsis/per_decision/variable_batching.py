"""Batches of less than the whole queue (RAMSIS, section 4.3.2)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.per_decision.leftovers import Leftovers
from dispatch.selection.ramsis.per_decision.process import DAMPING, MAX_SWEEPS, DecisionProcess
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.table import DecisionTable

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

TOLERANCE = 1e-5
"""Span of the last change of values below which a policy counts as optimal."""


MAX_IMPROVEMENTS = 20

SETTLED = 1e-3
"""Share of states that an improvement changes below which a policy counts as optimal."""


class Values(NamedTuple):
    """Relative value of each state with rows, as [n - 1, j], and of the empty and the full queue."""

    queued: Floats
    empty: float
    full: float


class VariableBatching:
    """The states of `DecisionProcess`, where a launch may also take the first rows of a longer queue.

    A late queue is still served whole by the fastest variant.
    """

    def __init__(self, problem: WorkerProblem) -> None:
        if problem.balancing != "round_robin":
            raise ValueError(f"balancing {problem.balancing!r} with variable batching; use round robin")
        self.whole = whole = DecisionProcess(problem)
        launches = whole.launches
        self.partial = np.flatnonzero(launches.latency_s <= problem.slo_s)
        weights = whole.weights[launches.starts]
        self.leftovers = Leftovers(problem, whole.slack_s, weights, launches.latency_s[self.partial])
        self.meets = launches.meets(whole.slack_s)

    def sweep(self, values: Values, chosen: Ints, reward: Floats) -> Floats:
        """Value of each state under a policy: the launch of each state and its reward, as [n - 1, j]."""
        after_whole = self._after_whole(values)
        after = self.leftovers.follow(values.queued, values.full)
        expected = after_whole[chosen, np.arange(chosen.shape[1])]
        batches = self.whole.launches.rows[chosen]
        for n in range(2, len(chosen) + 1):
            for batch in np.unique(batches[n - 1][batches[n - 1] < n]):
                at = np.flatnonzero(batches[n - 1] == batch)
                launch = np.searchsorted(self.partial, chosen[n - 1, at])
                following = after[launch, :, n - batch - 1].reshape(len(at), -1)
                first = self.leftovers.first_left(n, int(batch))[at]
                expected[n - 1, at] = np.einsum("jk,jk->j", first, following)
        return np.asarray(expected + reward)

    def improve(self, values: Values) -> Ints:
        """The best launch of each state."""
        launches, starts = self.whole.launches, self.whole.launches.starts
        every = self._after_whole(values) + self.whole.reward
        better = np.maximum.reduceat(every, starts, axis=0)
        is_best = every >= better[launches.rows - 1]
        chosen = np.minimum.reduceat(np.where(is_best, np.arange(len(every))[:, None], len(every)), starts, axis=0)
        after = self.leftovers.follow(values.queued, values.full)
        sizes = launches.rows[self.partial]
        for batch in np.unique(sizes):
            own = np.flatnonzero(sizes == batch)
            reward = np.where(self.meets[self.partial[own]], launches.accuracy[self.partial[own], None], -np.inf)
            for n in range(batch + 1, len(better) + 1):
                following = after[own, :, n - batch - 1].reshape(len(own), -1).T
                actions = (self.leftovers.first_left(n, int(batch)) @ following).T + reward
                best = np.argmax(actions, axis=0)
                action = actions[best, np.arange(actions.shape[1])]
                gains = action > better[n - 1] + 1e-9
                better[n - 1, gains] = action[gains]
                chosen[n - 1, gains] = self.partial[own[best[gains]]]
        return np.asarray(chosen)

    def _after_whole(self, values: Values) -> Floats:
        """Expected value after a launch of the whole queue, by launch and slack step."""
        transitions, weights = self.whole.transitions, self.whole.weights
        expected = transitions.expect(*values)
        return np.asarray(np.matmul(weights, expected[:, :, None])[:, :, 0])


def solve_variable_batching(problem: WorkerProblem) -> DecisionTable:
    """The paper's policy with variable batching, by modified policy iteration from the one with maximal batching.

    Each improvement looks at every batch size, the sweeps between them at those that were chosen. As for maximal
    batching, batches are taken to last as long as ``latency_s`` says.
    """
    process = VariableBatching(problem)
    launches, steps = process.whole.launches, np.arange(len(process.whole.slack_s))
    chosen, _ = process.whole.optimal_launches()
    start = Values(np.zeros(chosen.shape), 0.0, 0.0)
    values = start
    for _ in range(MAX_IMPROVEMENTS):
        reward = np.where(process.meets[chosen, steps], launches.accuracy[chosen], 0.0)
        _, values, _ = _settle(process, chosen, reward, values)
        better = process.improve(values)
        changed = np.mean(better != chosen)
        chosen = better
        if settled := bool(changed < SETTLED):
            break
    rows, in_time = launches.rows[chosen], process.meets[chosen, steps]
    served, _, served_settled = _settle(process, chosen, rows.astype(np.float64), start)
    accurate_rows = np.where(in_time, rows * launches.accuracy[chosen], 0.0)
    accurate, _, accurate_settled = _settle(process, chosen, accurate_rows, start)
    late, _, late_settled = _settle(process, chosen, np.where(in_time, 0.0, rows), start)
    settled = settled and served_settled and accurate_settled and late_settled
    variant = launches.variant[chosen].astype(np.uint8)[:, :, None]
    batch = rows.astype(np.uint8)[:, :, None]
    return DecisionTable.of(problem, process.whole.slack_s, variant, batch, accurate / served, late / served, settled)


def _settle(process: VariableBatching, chosen: Ints, reward: Floats, values: Values) -> tuple[float, Values, bool]:
    """Mean reward per decision under a policy, the relative values of its states, and whether they settled."""
    for _ in range(MAX_SWEEPS):
        after = process.sweep(values, chosen, reward)
        change = after - values.queued
        idle_change, full_change = values.queued[0, -1] - values.empty, after[-1, 0] - values.full
        low, high = min(float(change.min()), idle_change), max(float(change.max()), idle_change)
        queued = values.queued + DAMPING * change
        reference = float(queued[0, -1])
        values = Values(
            queued - reference,
            values.empty + DAMPING * idle_change - reference,
            values.full + DAMPING * full_change - reference,
        )
        if settled := high - low < TOLERANCE:
            break
    return 0.5 * (low + high), values, settled

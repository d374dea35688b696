"""The decision process as the paper states it: reward per decision, phases averaged over (RAMSIS, section 4)."""

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.launches import Launches
from dispatch.selection.ramsis.per_decision.phases import phase_weights
from dispatch.selection.ramsis.per_decision.transitions import Transitions
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.slack import slack_grid
from dispatch.selection.ramsis.tables.table import DecisionTable

Floats = NDArray[np.float64]

DAMPING = 0.8
"""Share of the new value in each sweep; below 1, since the process may be periodic (idle, one query, idle, ...)."""

TOLERANCE = 1e-6
"""Span of the last change of values, in accuracy per decision, below which a policy counts as optimal."""

STATIONARY = 1e-7
"""Change of the state probabilities in one sweep below which they count as stationary."""

MAX_SWEEPS = 5000


class DecisionProcess:
    """Maximal batching: a decision takes the whole queue, and the states are (n, slack), empty, and full.

    Where queries join the shortest queue (appendix I.1) nobody takes turns, and each worker gets its share of the load
    whatever it runs. The appendix has next to nothing join a queue of three and more, which is a long one where queries
    are served one by one; where batches of so many are usual they are so on all workers, and tables promised up to 17
    points more accuracy than there was.
    """

    def __init__(self, problem: WorkerProblem, slack_s: Floats | None = None) -> None:
        self.problem = problem
        self.slack_s = slack_grid(problem) if slack_s is None else slack_s
        self.launches = Launches.of(problem)
        rows = problem.max_queue_rows
        arrivals, turns = problem.arrivals, problem.workers
        if problem.balancing == "shortest_queue":
            arrivals, turns = arrivals.at_rate(problem.load_qps / problem.workers), 1
        self.transitions = Transitions(self.launches.latency_s, self.slack_s, arrivals, turns, rows)
        weights = phase_weights(arrivals, self.slack_s, turns, rows)
        self.weights = weights[self.launches.rows - 1]  # [launch, j, phase]
        meets = self.launches.meets(self.slack_s)
        self.reward = np.where(meets, self.launches.accuracy[:, None], -np.inf)
        hopeless = ~np.logical_or.reduceat(meets, self.launches.starts, axis=0)
        self.reward[self.launches.starts] = np.where(hopeless, 0.0, self.reward[self.launches.starts])

    def action_values(self, value: Floats, empty: float, full: float) -> Floats:
        """Reward and what follows, by launch and slack step."""
        expected = self.transitions.expect(value, empty, full)
        return np.asarray(self.reward + np.matmul(self.weights, expected[:, :, None])[:, :, 0])

    def optimal_launches(self) -> tuple[NDArray[np.intp], bool]:
        """Relative value iteration for the mean reward per decision; the launch of each state, as [n - 1, j].

        Also whether values settled within `MAX_SWEEPS`.
        """
        starts = self.launches.starts
        value = np.zeros((self.problem.max_queue_rows, len(self.slack_s)))
        empty = full = 0.0
        actions = self.action_values(value, empty, full)
        for _ in range(MAX_SWEEPS):
            better = np.maximum.reduceat(actions, starts, axis=0)
            change = better - value
            idle_change, full_change = value[0, -1] - empty, better[-1, 0] - full
            value = value + DAMPING * change
            empty += DAMPING * idle_change
            full += DAMPING * full_change
            reference = value[0, -1]
            value -= reference
            empty -= reference
            full -= reference
            actions = self.action_values(value, empty, full)
            if settled := bool(max(change.max(), idle_change) - min(change.min(), idle_change) < TOLERANCE):
                break
        best = np.maximum.reduceat(actions, starts, axis=0)
        is_best = actions >= best[self.launches.rows - 1]
        candidates = np.where(is_best, np.arange(len(actions))[:, None], len(actions))
        return np.asarray(np.minimum.reduceat(candidates, starts, axis=0)), settled

    def bounds(self, chosen: NDArray[np.intp]) -> tuple[float, float, bool]:
        """Accuracy and violation rate per query in the long run, by power iteration (section 5.1).

        States count by their rows, since objectives are about queries; a batch counts as late as a whole. Also whether
        the states' probabilities settled within `MAX_SWEEPS`.
        """
        steps = np.arange(len(self.slack_s))
        order = np.argsort(chosen, axis=None, kind="stable")
        weights = self.weights[chosen, steps].reshape(-1, self.weights.shape[2])[order]
        used, starts = np.unique(chosen.ravel()[order], return_index=True)
        states = np.zeros(chosen.shape)
        states[0, -1] = 1.0
        empty = full = 0.0
        mass = np.zeros((len(self.launches.rows), self.weights.shape[2]))
        for _ in range(MAX_SWEEPS):
            at = states.copy()
            at[-1, 0] += full
            mass[used] = np.add.reduceat(at.ravel()[order, None] * weights, starts, axis=0)
            after, no_rows, too_many = self.transitions.spread(mass)
            after[0, -1] += empty
            states, last = (1.0 - DAMPING) * states + DAMPING * after, states
            empty = (1.0 - DAMPING) * empty + DAMPING * no_rows
            full = (1.0 - DAMPING) * full + DAMPING * too_many
            total = states.sum() + empty + full
            states, empty, full = states / total, empty / total, full / total
            if settled := bool(np.abs(states - last).sum() < STATIONARY):
                break
        at = states.copy()
        at[-1, 0] += full
        weighted = at * np.arange(1, len(at) + 1)[:, None]
        weighted /= weighted.sum()
        in_time = self.launches.meets(self.slack_s)[chosen, steps]
        accuracy = float((weighted * self.launches.accuracy[chosen])[in_time].sum())
        return accuracy, float(weighted[~in_time].sum()), settled


def solve_per_decision(problem: WorkerProblem, slack_s: Floats | None = None) -> DecisionTable:
    """The paper's policy for maximal batching; ``slack_s`` has other slack times to tell apart than the problem's own.

    Batches are taken to last as long as ``latency_s`` says, also where the worker is busy for less on average: queues
    come out longer than they are, so that the bounds hold but are loose.
    """
    process = DecisionProcess(problem, slack_s)
    chosen, settled = process.optimal_launches()
    accuracy, violation_rate, stationary = process.bounds(chosen)
    variant = process.launches.variant[chosen].astype(np.uint8)[:, :, None]
    return DecisionTable.of(problem, process.slack_s, variant, None, accuracy, violation_rate, settled and stationary)

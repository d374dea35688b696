"""Our decision process: reward per query, phases known, and waiting allowed (docs/ramsis.md)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.launches import Launches
from dispatch.selection.ramsis.per_query.ages import Ages
from dispatch.selection.ramsis.per_query.durations import Durations
from dispatch.selection.ramsis.per_query.policy_iteration import Settled, gain_bounds, settle
from dispatch.selection.ramsis.per_query.renewals import Renewals
from dispatch.selection.ramsis.per_query.turns import Turn
from dispatch.selection.ramsis.per_query.waiting import Waiting
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.slack import slack_grid
from dispatch.selection.ramsis.tables.table import HOLD, DecisionTable

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

TOLERANCE = 3e-5
"""Largest change of a value relative to the others, in accurate answers, at which they count as settled."""

ROUGH_TOLERANCE = 1e-4
"""The same where only the order of gains is asked for."""

MOST_TOGETHER = 64


@dataclass(frozen=True, eq=False)
class Start:
    """Values by duration and phase from which a process of the same or a similar problem may begin."""

    nodes_s: Floats
    after: Floats
    gain: float

    def on(self, nodes_s: Floats, phases: int) -> Floats:
        """The values for other durations and another number of phases."""
        phase = np.arange(phases) * self.after.shape[1] // phases
        by_phase = [np.interp(nodes_s, self.nodes_s, self.after[:, p]) for p in phase]
        values = np.stack(by_phase, axis=1)
        return np.asarray(values - values[0, 0])


@dataclass(frozen=True, eq=False)
class _Policy:
    """Decisions, as indices into the values of launches without and then with rewards, and which states wait.

    ``launch[r, n - 1, phase]`` is for queues that r variants serve in time, ``holds[bin, n - 1, phase]`` for the
    worker's own phases.
    """

    launch: Ints
    states: Ints
    own: Ints
    passed: Ints
    holds: Bools


class QueryProcess:
    """The semi-Markov process of one worker under maximal batching.

    Its gain is the sum of ``rewards`` of launches in time, per second. Its values are those after launches, by duration
    and phase: the state before a launch needs none of its own.

    A launch is in time where its ``latency_s`` fits into the slack, and keeps the worker busy for its ``duration_s``
    on average.
    """

    def __init__(self, problem: WorkerProblem) -> None:
        self.problem = problem
        self.slack_s = slack_grid(problem)
        self.launches = launches = Launches.of(problem)
        self.rewards = np.asarray(launches.rows * launches.accuracy)
        arrivals, rows = problem.arrivals, problem.max_queue_rows
        self.turn = turn = Turn(problem.workers, problem.group, tuple(arrivals.together_pmf(MOST_TOGETHER).tolist()))
        tail_s = launches.latency_s if problem.busy_s else None
        self.durations = Durations.of(launches.duration_s, tail_s, problem.late_share)
        self.ages = ages = Ages.of(self.slack_s, float(self.durations.nodes_s[-1]))
        self.renewals = Renewals(arrivals, turn, ages, self.durations.nodes_s, rows)
        self.wait_s = turn.instants / problem.load_qps
        self.quickest_s = float(launches.duration_s.min())
        self.slowest_s = float(launches.duration_s.max() + self.wait_s.max())
        meets = launches.meets(self.slack_s[::-1])
        in_time = np.add.reduceat(meets.astype(np.intp), launches.starts, axis=0).T  # [bin, n - 1], fastest first
        self.in_time = in_time
        most = max(int(in_time.max()), 1)
        ranked = launches.starts[None, :] + np.arange(most)[:, None]
        exists = np.arange(most)[:, None] < in_time[0]
        self._ranked = np.where(exists, ranked, 0)
        self._impossible = np.where(exists, 0.0, -np.inf)[:, :, None]
        allowed = in_time > 0
        allowed[:, max(problem.max_rows, default=rows) - 1 :] = False  # a full batch is launched, and the rest may wait
        self._waiting = Waiting(problem.load_qps, turn, ages, allowed) if turn.single else None
        phases, group = turn.phases, turn.group
        bins = np.concatenate([in_time, np.zeros((1, rows), dtype=np.intp)])  # and one for all that is late
        bin_of, length, phase = np.unravel_index(self.renewals.states, (*bins.shape, phases))
        self._states = (bins[bin_of, length] * rows + length) * phases + phase
        launch_of = (in_time * rows + np.arange(rows)) * phases
        self._own = launch_of[:, :, None] + np.arange(group)
        self._passed = launch_of + group if phases > group else launch_of[:0]
        self._own_states = np.flatnonzero((bin_of < len(in_time)) & (phase < group))
        mine = self._own_states
        self._own_of = (bin_of[mine] * rows + length[mine]) * group + phase[mine]
        self._policy: _Policy | None = None

    def improve(self, after: Floats, gain: float) -> Floats:
        """See `policy_iteration.Process`."""
        values = self.durations.interpolate(after) - gain * self.launches.duration_s[:, None]
        hopeless = values[self.launches.shortest]
        with_reward = values + self.rewards[:, None]
        ranked = with_reward[self._ranked] + self._impossible
        best = np.concatenate([hopeless[None], np.maximum.accumulate(ranked, axis=0)])
        launch = self._chosen(ranked, best[1:])
        flat = best.ravel()
        own, holds = flat[self._own], np.zeros(self._own.shape, dtype=bool)
        if self._waiting is not None:
            own, holds = self._waiting.values(own, flat[self._passed], hopeless, gain)
        by_launch = launch.ravel()
        self._policy = _Policy(launch, by_launch[self._states], by_launch[self._own], by_launch[self._passed], holds)
        return self._expect(flat[self._states], own, gain)

    def follow(self, after: Floats, gain: float, rewarded: bool) -> Floats:
        """See `policy_iteration.Process`."""
        policy = self._policy
        assert policy is not None
        values = self.durations.interpolate(after) - gain * self.launches.duration_s[:, None]
        in_time = values + self.rewards[:, None] if rewarded else values
        flat = np.concatenate([values, in_time]).ravel()
        own = flat[policy.own]
        if self._waiting is not None and policy.holds.any():
            hopeless = values[self.launches.shortest]
            own, _ = self._waiting.values(own, flat[policy.passed], hopeless, gain, policy.holds)
        return self._expect(flat[policy.states], own, gain)

    def _expect(self, states: Floats, own: Floats, gain: float) -> Floats:
        states[self._own_states] = own.ravel()[self._own_of]
        return self.renewals.expect(states, gain * self.wait_s)

    def _chosen(self, ranked: Floats, best: Floats) -> Ints:
        """Which launch each of ``best`` is, as `_Policy.launch` has it; of equals the fastest."""
        phases, launches = self.turn.phases, len(self.launches.rows)
        is_new = np.concatenate([np.ones((1, *ranked.shape[1:]), dtype=bool), ranked[1:] > best[:-1]])
        ranks = np.where(is_new, np.arange(len(ranked))[:, None, None], 0)
        in_time = self.launches.starts[:, None] + np.maximum.accumulate(ranks, axis=0)
        late = np.broadcast_to(self.launches.shortest[:, None], in_time.shape[1:])
        launch = np.concatenate([late[None], in_time]) * phases + np.arange(phases)
        launch[1:] += launches * phases
        return np.asarray(launch)

    def start(self, start: Start | None) -> Settled:
        """Where to begin: with the values given, or with none."""
        nodes_s, phases = self.durations.nodes_s, self.turn.phases
        if start is None:
            return Settled(np.zeros((len(nodes_s), phases)), 0.0, settled=False)
        return Settled(start.on(nodes_s, phases), start.gain, settled=False)

    def variants(self) -> NDArray[np.uint8]:
        """The decisions kept as a table wants them: [n - 1, slack step, phase]."""
        assert self._policy is not None
        phases = self.turn.phases
        launch = self._policy.launch[self.in_time, np.arange(self.in_time.shape[1])]  # [bin, n - 1, phase]
        variant = self.launches.variant[launch // phases % len(self.launches.rows)].astype(np.uint8)
        variant[:, :, : self.turn.group][self._policy.holds] = HOLD
        return np.ascontiguousarray(variant[::-1].transpose(1, 0, 2))


def rough_accuracy(problem: WorkerProblem, enough: float, start: Start | None = None) -> tuple[float, Start]:
    """About what `solve_per_query` expects of the problem's group, and values to begin with.

    Anything below ``enough`` where it is certain to be below.
    """
    process = QueryProcess(problem)
    own_qps = problem.load_qps / problem.workers
    found = settle(process, process.start(start), ROUGH_TOLERANCE, enough * own_qps, cold=start is None)
    return found.gain / own_qps, Start(process.durations.nodes_s, found.after, found.gain)


def solve_per_query(problem: WorkerProblem, start: Start | None = None) -> DecisionTable:
    """Our policy for the problem's group, with its accuracy and violation rate per query.

    Of the launches whose latency fits into the slack, the problem's ``late_share`` is late all the same, whatever the
    variant. That leaves the best policy and the mean accuracy of answers in time as they are: the expected accuracy
    counts 0 only for launches that do not fit. Both expectations are of the policy that the table has, whether it is
    the best one or only the best that was found; where they are not known exactly, the worse end counts.
    """
    process = QueryProcess(problem)
    found = settle(process, process.start(start), TOLERANCE, cold=start is None)
    own_qps = problem.load_qps / problem.workers
    accurate_qps, _, evaluated = gain_bounds(process, found, own_qps)
    process.rewards = process.launches.rows.astype(np.float64)
    timely_qps, _, counted = gain_bounds(process, process.start(None), own_qps)
    timely_rate = min(max(timely_qps / own_qps, 0.0), 1.0)
    accuracy = min(max(accurate_qps / own_qps, 0.0), timely_rate * max(problem.accuracies))
    variant = process.variants()
    settled = found.settled and evaluated.settled and counted.settled
    return DecisionTable.of(problem, process.slack_s, variant, None, accuracy, 1.0 - timely_rate, settled)

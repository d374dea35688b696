"""Latency changes in virtual time: the promise is kept again within seconds, and nothing is given away for good."""

from itertools import pairwise

import numpy as np
import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.promise.feedback import LEAST
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import SelectionPolicy
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.solver import solve
from dispatch.selection.ramsis.tables.work import TableTask, TableWork
from latency_scene import OFFERED, PATH_S, SLO_S, Paused, Played, ProfiledRuns, play
from simulator.changing_latency import ChangingLatency, LatencyChange

CHANGED_S, BACK_S, END_S = 10.0, 40.0, 110.0
WITHIN_S = 5.0
"""From a change until the promise is to be kept."""

PROMISED = 0.01
SIGMAS = 0.1, 0.2
"""By which runs and way vary."""

CHANGES = {
    "all workers 2x slower": LatencyChange(CHANGED_S, run_factor=2.0, path_s=PATH_S),
    "one worker 2x slower": LatencyChange(CHANGED_S, run_factor=2.0, path_s=PATH_S, worker="w0"),
    "the way 4x as long": LatencyChange(CHANGED_S, run_factor=1.0, path_s=4 * PATH_S),
}


@pytest.fixture(scope="module")
def tables() -> RamsisSelection:
    """All tables that are made for the latency at first: near the load, and ahead of time for what may come."""
    task = TableTask(OFFERED, slo_s=SLO_S, workers=2, balancing="round_robin", highest_qps=300.0)
    work = TableWork(task)
    work.aim(LatencyEstimate(run_tail=1.2, path_s=PATH_S, path_tail_s=1.4 * PATH_S), 200.0)
    while (wanted := work.next()) is not None:
        level, problem = wanted
        work.add(level, solve(problem))
    grids = work.grids
    assert grids is not None
    return RamsisSelection(leveled={"cpu": grids})


@pytest.fixture(params=["greedy", "ramsis"])
def selection(request: pytest.FixtureRequest, tables: RamsisSelection) -> SelectionPolicy:
    return tables if request.param == "ramsis" else GreedySelection()


@pytest.fixture(scope="module")
def undisturbed() -> dict[tuple[str, float], Played]:
    """Where nothing changes, by policy and load: the same for all changes that are compared with it."""
    return {}


def under(selection: SelectionPolicy, load_qps: float, *changes: LatencyChange) -> Played:
    latency = ChangingLatency(ProfiledRuns(), changes, np.random.default_rng(5), *SIGMAS)
    return play(selection, latency, load_qps, END_S)


def and_back(change: LatencyChange) -> LatencyChange:
    return LatencyChange(BACK_S, run_factor=1.0, path_s=PATH_S, worker=change.worker)


@pytest.mark.parametrize("load_qps", [100.0, 200.0])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_promise_is_kept_again_after_a_change_and_accuracy_comes_back(
    selection: SelectionPolicy,
    change: LatencyChange,
    load_qps: float,
    undisturbed: dict[tuple[str, float], Played],
) -> None:
    key = selection.name, load_qps
    if key not in undisturbed:
        undisturbed[key] = under(selection, load_qps)
    played, unchanged = under(selection, load_qps, change, and_back(change)), undisturbed[key]
    assert played.violation_rate(1.0, CHANGED_S) <= PROMISED
    assert played.violation_rate(CHANGED_S + WITHIN_S, BACK_S) <= PROMISED
    assert played.violation_rate(BACK_S, END_S) <= PROMISED
    always = under(selection, load_qps, LatencyChange(0.0, change.run_factor, change.path_s, change.worker))
    settled = CHANGED_S + WITHIN_S, BACK_S
    assert played.accuracy(*settled) > always.accuracy(*settled) - 0.01
    assert played.accuracy(BACK_S + 40.0, END_S) > unchanged.accuracy(BACK_S + 40.0, END_S) - 0.002
    assert played.share(END_S) == 1.0


def test_nothing_is_spent_on_feedback_where_latency_is_as_it_was(selection: SelectionPolicy) -> None:
    played = under(selection, 200.0)
    assert played.steps_down_s() == []
    assert played.violation_rate(1.0, END_S) <= PROMISED


def test_tables_are_more_accurate_than_greedy_before_and_after_a_change(tables: RamsisSelection) -> None:
    change = CHANGES["all workers 2x slower"]
    by_tables, by_greedy = (under(policy, 200.0, change) for policy in (tables, GreedySelection()))
    for span in ((1.0, CHANGED_S), (CHANGED_S + WITHIN_S, END_S)):
        assert by_tables.accuracy(*span) > by_greedy.accuracy(*span)


def test_a_worker_that_is_slow_alone_is_known_as_such(selection: SelectionPolicy) -> None:
    played = under(selection, 200.0, CHANGES["one worker 2x slower"])
    slow, other = (played.estimator.estimate(worker) for worker in ("w0", "w1"))
    assert slow.run_factor == pytest.approx(2.0, rel=0.1)
    assert other.run_factor == pytest.approx(1.0, rel=0.1)
    assert slow.path_s == pytest.approx(PATH_S, rel=0.2)


PAUSES_END_S = 120.0
MOST_STEPS = 12


def with_pauses(selection: SelectionPolicy, share: float, pause_s: float) -> Played:
    """What estimates cannot follow: a few batches take far longer, until `PAUSES_END_S`."""
    model = Paused(ProfiledRuns(), share, pause_s, PAUSES_END_S, seed=3)
    return play(selection, ChangingLatency(model, (), np.random.default_rng(5), *SIGMAS), 200.0, 300.0)


def test_feedback_brings_violations_down_settles_and_comes_back(selection: SelectionPolicy) -> None:
    played = with_pauses(selection, share=0.02, pause_s=0.06)
    first_s = played.steps_down_s()[0]
    assert played.violation_rate(0.0, first_s) > 1.3 * PROMISED
    assert played.violation_rate(60.0, PAUSES_END_S) < 1.1 * PROMISED
    assert played.share(60.0) < 1.0
    assert played.share(300.0) == 1.0
    assert played.violation_rate(PAUSES_END_S + 1.0, 300.0) < 0.001


@pytest.mark.parametrize(("share", "pause_s"), [(0.02, 0.06), (0.03, 0.06), (0.03, 0.08)])
def test_the_share_does_not_swing(selection: SelectionPolicy, share: float, pause_s: float) -> None:
    played = with_pauses(selection, share, pause_s)
    assert len(played.steps_down_s()) <= MOST_STEPS
    values = [value for _, value in played.shares]
    turns = sum((b - a) * (c - b) < 0 for (a, b), (_, c) in pairwise(pairwise(values)))
    assert turns <= 2 * MOST_STEPS
    assert min(values) >= LEAST
    assert played.share(300.0) == 1.0

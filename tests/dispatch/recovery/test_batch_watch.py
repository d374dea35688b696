"""Batches that take far too long: who is given up, when, and who never is."""

from math import inf

import pytest

from catalog.errors import WorkerLost
from dispatch.commands import Command, GiveUp, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import Plan
from dispatch.query import StageKey
from dispatch.recovery.batch_watch import LEAST_LAST_S, LEAST_S, LEAST_UNPROVEN_S, LOOK_EVERY_S, TAILS
from dispatch.selection.fixed import FixedSelection
from dispatch.worker_info import WorkerInfo
from dispatch_scene import SLOW, answered, dispatcher, endpoint, finish, launched, query, rejected

PATH_S = 0.001


def measuring(workers: tuple[str, ...], drop_late: bool = False) -> Dispatcher:
    """Workers that run all on the slow variant, and whose batches are timed."""
    plan = Plan(1, {"digits": endpoint(selection=FixedSelection("slow"), drop_late=drop_late)})
    d = Dispatcher(plan, LatencyEstimator(PATH_S))
    for worker in workers:
        d.on_worker_ready(worker, WorkerInfo("cpu"), ["slow"], -1.0)
    return d


def proven(workers: tuple[str, ...], drop_late: bool = False) -> Dispatcher:
    """Workers each of which has answered a batch, all on the slow variant."""
    d = measuring(workers, drop_late)
    for number in range(len(workers)):
        (batch,) = launched(d.on_arrival(query(1000 + number, -1.0), -1.0))
        finish(d, batch, -1.0)
    assert d.on_timer(-1.0 + LOOK_EVERY_S) == []
    return d


def play(d: Dispatcher, commands: list[Command], from_s: float, until_s: float) -> list[tuple[float, Command]]:
    """Ring when the dispatcher asks for it; everything that it says, and when."""
    said = [(from_s, command) for command in commands]
    while True:
        wakes = [command.at_s for _, command in said if isinstance(command, WakeAt)]
        at_s = min(wakes, default=inf)
        if at_s > until_s:
            return said
        said = [(at, c) for at, c in said if not isinstance(c, WakeAt)] + [(at_s, c) for c in d.on_timer(at_s)]


def given_up(said: list[tuple[float, Command]]) -> list[tuple[float, str]]:
    return [(at_s, command.batch.worker) for at_s, command in said if isinstance(command, GiveUp)]


def test_a_query_of_more_rows_than_batches_are_to_hold_has_the_time_that_these_take() -> None:
    d = proven(("w1", "w2", "w3"))
    rows = 8 * SLOW.max_batch
    runs_s = rows * SLOW.latency_s[1]
    commands = d.on_arrival(query(1, 0.0, 10.0, rows), 0.0)
    assert given_up(play(d, commands, 0.0, runs_s)) == []
    (batch,) = launched(commands)
    assert answered(d.on_done(batch.worker, batch.id, [{}], runs_s, runs_s)) == [1]


def test_a_batch_that_is_overdue_is_given_up_and_another_worker_answers_it() -> None:
    d = proven(("w1", "w2"))
    said = play(d, d.on_arrival(query(1), 0.0), 0.0, 3.0)
    ((at_s, worker),) = given_up(said)
    assert worker == "w1"
    assert LEAST_S <= at_s <= LEAST_S + 2 * LOOK_EVERY_S
    first, again = launched([command for _, command in said])
    assert (first.worker, again.worker) == ("w1", "w2")
    assert "w1" not in d.workers
    assert finish(d, first, at_s + 0.1) == [], "a late answer is nobody's"
    assert answered(finish(d, again, at_s + 0.2)) == [1]


def test_how_long_is_too_long_grows_with_what_batches_take() -> None:
    d = proven(("w1",))
    (first,) = launched(d.on_arrival(query(1), 0.0))
    for number in range(8):
        d.on_arrival(query(2 + number), 0.0)
    commands = finish(d, first, 0.0)
    (batch,) = launched(commands)
    assert batch.rows == 8
    d.on_worker_ready("w2", WorkerInfo("cpu"), ["slow"], 0.0)
    (slow,) = d.workers["w1"].lanes[StageKey("digits")].candidates
    large_s = slow.latency_s[8]
    assert TAILS * large_s > LEAST_S
    ((at_s, worker),) = given_up(play(d, d.on_timer(LOOK_EVERY_S), LOOK_EVERY_S, 4.0))
    assert worker == "w1"
    assert TAILS * large_s <= at_s <= TAILS * large_s + 2 * LOOK_EVERY_S


def test_a_worker_that_has_not_answered_yet_gets_more_time() -> None:
    new = measuring(("w1", "w2"))
    ((at_s, _),) = given_up(play(new, new.on_arrival(query(1, slo_s=60.0), 0.0), 0.0, 12.0))
    assert LEAST_UNPROVEN_S <= at_s <= LEAST_UNPROVEN_S + 2 * LOOK_EVERY_S


def test_the_last_worker_gets_much_more_time_since_nobody_could_run_the_batch_in_its_place() -> None:
    alone = proven(("w1",))
    ((at_s, _),) = given_up(play(alone, alone.on_arrival(query(1, slo_s=99.0), 0.0), 0.0, 80.0))
    assert LEAST_LAST_S <= at_s <= LEAST_LAST_S + 2 * LOOK_EVERY_S


def test_where_all_workers_are_late_at_once_it_is_the_machine() -> None:
    d = proven(("w1", "w2", "w3"))
    commands = [command for number in (1, 2, 3) for command in d.on_arrival(query(number, slo_s=60.0), 0.0)]
    assert given_up(play(d, commands, 0.0, LEAST_LAST_S - 1.0)) == []
    assert set(d.workers) == {"w1", "w2", "w3"}


def test_a_host_that_was_held_up_itself_finds_nobody_overdue() -> None:
    d = proven(("w1", "w2"))
    (batch,) = launched(d.on_arrival(query(1, slo_s=60.0), 0.0))
    assert not [c for c in d.on_timer(30.0) if isinstance(c, GiveUp)], "it looks for the first time"
    assert answered(finish(d, batch, 30.1)) == [1]


def test_a_worker_that_answers_again_is_used_again() -> None:
    d = proven(("w1", "w2"))
    said = play(d, d.on_arrival(query(1), 0.0), 0.0, 2.0)
    finish(d, launched([command for _, command in said])[-1], 2.0)
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 2.1)
    assert {batch.worker for n in (5, 6) for batch in launched(d.on_arrival(query(n), 2.2))} == {"w1", "w2"}


def test_nothing_is_looked_at_while_nothing_runs() -> None:
    d = proven(("w1", "w2"))
    (batch,) = launched(commands := d.on_arrival(query(1), 0.0))
    finish(d, batch, 0.1)
    assert not [c for _, c in play(d, commands, 0.1, 5.0) if isinstance(c, WakeAt) and c.at_s < inf]


def test_a_query_that_hangs_one_worker_after_another_is_refused_after_two() -> None:
    d = proven(("w1", "w2", "w3", "w4"))
    said = play(d, d.on_arrival(query(1, slo_s=60.0), 0.0), 0.0, 30.0)
    assert len({worker for _, worker in given_up(said)}) == 2
    (error,) = [command.error for _, command in said if isinstance(command, Reject)]
    assert isinstance(error, WorkerLost)
    assert "did not answer while it ran the query's batch, and it was launched 2 times" in str(error)


def test_queries_that_are_dropped_at_their_deadline_are_not_launched_again_after_it() -> None:
    d = proven(("w1", "w2"), drop_late=True)
    said = play(d, d.on_arrival(query(1), 0.0), 0.0, 3.0)
    assert rejected([command for _, command in said]) == {1: WorkerLost}


def test_a_worker_whose_endpoint_is_gone_is_given_up_all_the_same() -> None:
    d = proven(("w1", "w2"))
    commands = d.on_arrival(query(1, slo_s=60.0), 0.0)
    commands += d.apply(Plan(2, {}), 0.1)
    said = play(d, commands, 0.1, 80.0)
    ((at_s, worker),) = given_up(said)
    assert worker == "w1"
    assert at_s >= LEAST_LAST_S
    assert rejected([command for _, command in said]) == {1: WorkerLost}


@pytest.mark.parametrize("seconds", [0.9])
def test_a_batch_that_is_merely_slow_is_left_alone(seconds: float) -> None:
    d = proven(("w1", "w2"))
    (batch,) = launched(commands := d.on_arrival(query(1), 0.0))
    assert given_up(play(d, commands, 0.0, seconds)) == []
    assert answered(finish(d, batch, seconds)) == [1]


def test_nothing_is_overdue_where_nothing_is_measured() -> None:
    """As in a simulation of exponential times, whose batches all end."""
    d = dispatcher(workers=("w1", "w2"))
    assert not [c for c in d.on_arrival(query(1, slo_s=99.0), 0.0) if isinstance(c, WakeAt)]
    assert d.on_timer(1000.0) == []

"""Admission in the dispatcher: what is refused at arrival, and what then runs."""

from dataclasses import replace

import pytest
from admission_scene import RULES, MostAccurate, busy, error_of, let_in

from catalog.errors import DeadlineMissed, Infeasible, NoWorker
from dispatch.balancing.registry import BALANCERS
from dispatch.commands import Reject
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.policy import Candidate
from dispatch.worker_info import WorkerInfo
from dispatch_scene import FAST, answered, dispatcher, endpoint, finish, launched, query, rejected


def test_what_fits_into_the_next_batch_is_let_in_however_long_that_takes() -> None:
    d = busy()
    assert let_in(d, 10, 8, 0.001)[0] == 8


@pytest.mark.parametrize("balancing", sorted(BALANCERS))
def test_behind_more_than_can_be_in_time_a_query_is_refused(balancing: str) -> None:
    d = busy(balancing=balancing)
    admitted, commands = let_in(d, 10, 90, 0.001)
    assert 24 <= admitted <= 56, "39 ms until the worker is free, and then 8 rows every 8 ms within 100 ms"
    assert set(rejected(commands).values()) == {Infeasible}
    assert d.queues.rows("digits") == admitted


def test_a_refusal_says_why_and_when_to_come_again() -> None:
    d = busy()
    _, commands = let_in(d, 10, 90, 0.001)
    error = next(c.error for c in commands if isinstance(c, Reject))
    assert (error.status, error.code, error.retryable) == (429, "rejected-slo-infeasible", True)
    assert error.retry_after_s is not None
    assert 0.05 < error.retry_after_s < 0.1


def test_more_workers_let_in_more() -> None:
    one, four = (let_in(busy(workers=workers), 10, 300, 0.001)[0] for workers in (1, 4))
    assert one < four
    assert four == pytest.approx(min(4 * one, 96), abs=4), "max_queued_rows is 100"


def test_what_was_let_in_under_contention_runs_on_the_fastest_variant_in_time() -> None:
    d = busy()
    let_in(d, 10, 90, 0.001)
    running, now_s, late, done = d.workers["w0"].batch, 0.040, 0, 0
    while running is not None:
        commands = finish(d, running, now_s)
        done += len(answered(commands))
        late += sum(job.deadline_s < now_s for job in running.jobs)
        (running, *_) = [*launched(commands), None]
        if running is not None:
            assert running.variant == "fast"
            assert running.rows <= FAST.max_batch
            now_s += FAST.latency_s[running.rows]
    assert late == 0
    assert done > 24


def test_while_others_are_refused_in_front_of_it_variants_are_the_fastest() -> None:
    d = busy()
    batch = d.workers["w0"].batch
    assert batch is not None
    d.queues.by_name["digits"].on_refused_in_front(1, 0.03)
    d.on_arrival(query(10, 0.03), 0.03)
    (next_one,) = launched(finish(d, batch, 0.040))
    assert next_one.variant == "fast"
    d.on_arrival(query(11, 0.6), 0.6)
    (later,) = launched(finish(d, next_one, 0.61))
    assert later.variant == "slow"


def test_a_refusal_costs_no_accuracy_where_an_accurate_variant_bears_far_more_than_comes() -> None:
    for row_s, variant in ((0.005, "slow"), (0.030, "fast")):  # 200 and 33 rows/s; 2.5 times what waits and comes is 60
        accurate = Candidate("slow", 0.9, (0.0, *(row_s * rows for rows in range(1, 9))))
        built = endpoint(admission=RULES, selection=MostAccurate())
        stage = replace(built.stages[""], candidates={"cpu": (FAST, accurate)})
        d = dispatcher(replace(built, stages={"": stage}))
        d.queues.by_name["digits"].on_refused_in_front(1, 5.0)
        (batch,) = launched(d.on_arrival(query(10, 5.0), 5.0))
        assert batch.variant == variant


def test_where_refusals_go_on_for_a_second_the_fastest_runs_until_they_end() -> None:
    accurate = Candidate("slow", 0.9, (0.0, *(0.005 * rows for rows in range(1, 9))))
    built = endpoint(admission=RULES, selection=MostAccurate())
    stage = replace(built.stages[""], candidates={"cpu": (FAST, accurate)})
    d = dispatcher(replace(built, stages={"": stage}))
    ran = []
    for number, now_s in enumerate((5.0, 5.4, 5.8, 6.2, 7.0, 7.4)):  # 0.8 s between 6.2 and 7: they begin anew
        d.queues.by_name["digits"].on_refused_in_front(1, now_s)
        (batch,) = launched(d.on_arrival(query(number, now_s), now_s))
        ran.append(batch.variant)
        finish(d, batch, now_s + 0.005)
    assert ran == ["slow", "slow", "slow", "fast", "slow", "slow"]


@pytest.mark.parametrize(("ratio", "variant"), [(1.09, "slow"), (1.12, "fast")])
def test_where_none_bears_enough_the_most_accurate_of_those_that_bear_next_to_as_much_runs(
    ratio: float, variant: str
) -> None:
    accurate = Candidate("slow", 0.9, tuple(ratio * latency_s for latency_s in FAST.latency_s))
    built = endpoint(admission=RULES, selection=MostAccurate())
    stage = replace(built.stages[""], candidates={"cpu": (FAST, accurate)})
    d = dispatcher(replace(built, stages={"": stage}))
    d.queues.by_name["digits"].on_refused_in_front(10_000, 5.0)
    (batch,) = launched(d.on_arrival(query(10, 5.0), 5.0))
    assert batch.variant == variant


@pytest.mark.parametrize(("delay_s", "variant"), [(0.019, "slow"), (0.021, "fast")])
def test_where_answers_are_slow_to_leave_variants_are_the_fastest(delay_s: float, variant: str) -> None:
    d = busy()
    batch, admission = d.workers["w0"].batch, d.queues.by_name["digits"].admission
    assert batch is not None
    assert admission is not None
    admission.high_delay_s = delay_s
    d.on_arrival(query(10, 0.01), 0.01)
    (next_one,) = launched(finish(d, batch, 0.040))
    assert next_one.variant == variant


def test_clients_that_ask_for_next_to_no_time_cost_the_others_no_accuracy() -> None:
    d = busy()
    batch, queues = d.workers["w0"].batch, d.queues.by_name["digits"]
    assert batch is not None
    assert queues.admission is not None
    queues.admission.high_delay_s = 0.001
    queues.turn_away(query(20, 0.01, slo_s=1e-6), 0.02)
    d.on_arrival(query(21, 0.02, slo_s=0.002), 0.02)
    d.on_arrival(query(10, 0.03), 0.03)
    (next_one,) = launched(finish(d, batch, 0.040))
    assert next_one.variant == "slow"


def test_it_lets_in_again_as_soon_as_there_is_room() -> None:
    d = busy()
    let_in(d, 10, 90, 0.001)
    assert let_in(d, 100, 10, 0.001)[0] == 0
    batch = d.workers["w0"].batch
    assert batch is not None
    (first,) = launched(finish(d, batch, 0.010))
    assert let_in(d, 110, 10, 0.0101)[0] >= 8, "the batch was back 30 ms before it was due"
    assert first.rows == 8


def test_where_nothing_that_waits_could_be_in_time_a_batch_of_what_is_due_last_runs_all_the_same() -> None:
    d = busy()
    admitted, _ = let_in(d, 10, 90, 0.001)
    batch = d.workers["w0"].batch
    assert batch is not None
    commands = finish(d, batch, 0.1005)
    (last_due,) = launched(commands)
    assert last_due.rows == FAST.max_batch
    assert [job.query.id for job in last_due.jobs] == list(range(10 + admitted - 8, 10 + admitted))
    assert list(rejected(commands).values()) == [DeadlineMissed] * (admitted - 8)


def test_a_policy_chooses_as_ever_once_the_rush_is_over() -> None:
    d = busy()
    let_in(d, 10, 90, 0.001)
    now_s = 0.040
    while (batch := d.workers["w0"].batch) is not None:
        finish(d, batch, now_s)
        now_s += 0.008
    (alone,) = launched(d.on_arrival(query(200, 2.0), 2.0))
    assert alone.variant == "slow"


def test_a_policy_that_keeps_to_one_variant_is_judged_by_that_and_keeps_to_it() -> None:
    d = busy(FixedSelection("slow"))
    admitted, _ = let_in(d, 10, 20, 0.001)
    assert admitted <= 2, "one row takes 40 ms, and the worker is busy for 39"
    (batch,) = launched(finish(d, d.workers["w0"].batch, 0.040))  # type: ignore[arg-type]
    assert batch.variant == "slow"


def test_a_query_that_was_late_when_it_came_is_refused() -> None:
    d = dispatcher(endpoint(admission=RULES))
    error = error_of(d.on_arrival(query(1, 0.0)._replace(deadline_s=0.2), 0.2))
    assert isinstance(error, DeadlineMissed)
    assert (error.status, error.code) == (504, "rejected-ttl-expired")


def test_a_deadline_that_no_variant_can_meet_is_refused_beside_an_idle_worker() -> None:
    d = dispatcher(endpoint(admission=RULES))
    error = error_of(d.on_arrival(query(1, slo_s=0.0004), 0.0))
    assert isinstance(error, Infeasible)
    assert error.retry_after_s is None, "it never does better"


def test_one_query_a_second_is_let_in_whatever_estimates_say() -> None:
    d = busy(FixedSelection("slow"))
    let_in(d, 10, 20, 0.9)
    assert let_in(d, 100, 10, 1.8)[0] == 0, "its worker hangs, and what waits is not done"
    assert let_in(d, 120, 10, 2.0)[0] == 1


def test_where_nobody_is_home_a_query_with_little_time_is_told_at_once_and_one_with_more_waits() -> None:
    d = dispatcher(endpoint(admission=RULES), workers=())
    assert rejected(d.on_arrival(query(1, slo_s=0.1), 0.0)) == {1: NoWorker}
    assert rejected(d.on_arrival(query(2, slo_s=5.0), 0.0)) == {}
    assert d.queues.rows("digits") == 1


def test_while_first_workers_are_expected_a_query_with_little_time_waits_for_them_until_its_deadline() -> None:
    d = dispatcher(endpoint(admission=RULES), workers=())
    d.queues.expect_workers({"digits": 3.0})
    assert rejected(d.on_arrival(query(1, slo_s=0.1), 0.0)) == {}
    assert rejected(d.on_arrival(query(2, slo_s=0.2), 0.0)) == {}
    assert rejected(d.on_timer(0.1)) == {1: NoWorker}, "it would be refused by now if it came"
    (batch,) = launched(d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast"], 0.15))
    assert [job.query.id for job in batch.jobs] == [2]


def test_of_two_workers_the_slow_one_with_a_full_queue_is_passed_over() -> None:
    d = busy(workers=2, max_queued_rows=1000)
    batch = d.workers["w1"].batch
    assert batch is not None
    let_in(d, 10, 190, 0.001)
    finish(d, batch, 0.001)
    before = d.workers["w0"].load.queued_rows
    admitted, _ = let_in(d, 200, 10, 0.001)
    assert admitted >= 8
    assert d.workers["w0"].load.queued_rows == before


def test_earlier_deadlines_do_not_wait_for_later_ones() -> None:
    d = busy(FixedSelection("fast"))
    let_in(d, 10, 90, 0.001, slo_s=1.0)
    assert rejected(d.on_arrival(query(200, 0.001, slo_s=0.1), 0.001)) == {}


def test_a_query_that_is_let_in_after_a_refusal_joins_as_the_balancer_says() -> None:
    d = busy(workers=2, max_queued_rows=1000)
    let_in(d, 10, 190, 0.001)
    stage = d.queues.by_name["digits"].stages[""]
    assert rejected(d.on_arrival(query(300, 0.001), 0.001)) == {300: Infeasible}
    assert stage.choice is None

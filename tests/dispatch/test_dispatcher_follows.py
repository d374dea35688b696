"""The next batch follows while the result of the one before is on its way: when it does, and what becomes of both."""

from math import inf
from typing import Any

import pytest

from dispatch.balancing.registry import create_balancer
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.commands import Command, GiveUp, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import PRIOR_RUN_TAIL, LatencyEstimator
from dispatch.latency.lead import LEAD, VARYING
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Batch
from dispatch.recovery.batch_watch import LEAST_S, LEAST_UNPROVEN_S, LOOK_EVERY_S
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.worker_info import WorkerInfo
from dispatch_scene import FAST, answered, answers, endpoint, finish, launched, query, rejected

PATH_S = 0.010
GAP_S = (1.0 - LEAD) * PATH_S
FOLLOWS_S = FAST.latency_s[1] + GAP_S


def measured(
    *workers: str, slo_s: float = 0.02, selection: SelectionPolicy | None = None, **options: Any
) -> Dispatcher:
    """Objectives of 20 ms, which the fast variant alone meets."""
    plan: EndpointPlan = endpoint(selection=selection, **options)
    made = Dispatcher(Plan(1, {plan.name: plan}), LatencyEstimator(PATH_S))
    for worker in workers or ("w1",):
        made.on_worker_ready(worker, WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    return made


def ask(d: Dispatcher, *ids: int, now_s: float = 0.0, slo_s: float = 0.02) -> list[Batch]:
    return [batch for each in ids for batch in launched(d.on_arrival(query(each, now_s, slo_s), now_s))]


def woken_s(commands: list[Command]) -> list[float]:
    return [command.at_s for command in commands if isinstance(command, WakeAt)]


def queries(batches: list[Batch]) -> list[list[int]]:
    return [[job.query.id for job in batch.jobs] for batch in batches]


def test_behind_a_query_of_more_rows_than_batches_are_to_hold_the_result_is_waited_for() -> None:
    d = measured()
    (first,) = launched(d.on_arrival(query(1, 0.0, 0.2, 8 * FAST.max_batch), 0.0))
    assert first.variant == "fast"
    assert ask(d, 2) == []
    assert launched(d.on_timer(FAST.latency_s[-1] + 2 * PATH_S)) == []
    assert queries(launched(finish(d, first, 8 * FAST.latency_s[-1] + PATH_S))) == [[2]]


def test_the_next_batch_is_launched_when_the_one_before_should_have_been_run() -> None:
    d = measured()
    commands = d.on_arrival(query(1, 0.0, 0.02), 0.0)
    assert min(woken_s(commands)) == pytest.approx(FOLLOWS_S)
    assert ask(d, 2, 3) == []
    assert launched(d.on_timer(0.9 * FOLLOWS_S)) == []
    (second,) = launched(d.on_timer(FOLLOWS_S))
    assert queries([second]) == [[2, 3]]
    (first,) = launched(commands)
    assert answered(finish(d, first, 0.011)) == [1]
    assert answered(finish(d, second, 0.015)) == [2, 3]


def test_no_more_than_two_are_under_way_and_the_third_follows_at_once_when_the_first_is_back() -> None:
    d = measured()
    (first,) = ask(d, 1)
    ask(d, 2)
    (second,) = launched(d.on_timer(FOLLOWS_S))
    assert ask(d, 3, now_s=0.003) == []
    assert launched(d.on_timer(0.010)) == [], "the worker should be idle, but nothing is known of the first"
    commands = finish(d, first, 0.011)
    assert queries(launched(commands)) == [[3]]
    assert [batch.id for batch in d.workers["w1"].under_way] == [second.id, launched(commands)[0].id]


def five_in_batches_of_one(latency: LatencyEstimator, run_s: float) -> tuple[Dispatcher, list[Command]]:
    one = Candidate("slow", 0.9, (0.0, run_s))
    plan = EndpointPlan.of_stage(
        "digits",
        StagePlan({"cpu": (one,)}, GreedySelection(), create_balancer("round_robin")),
        slo_s=1.0,
        max_queued_rows=100,
    )
    d = Dispatcher(Plan(1, {"digits": plan}), latency)
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["slow"], 0.0)
    return d, [command for each in (1, 2, 3, 4, 5) for command in d.on_arrival(query(each, 0.0, 1.0), 0.0)]


def test_every_batch_is_launched_ahead_where_runs_are_longer_than_the_way() -> None:
    run_s, path_s = 0.020, 0.010
    d, commands = five_in_batches_of_one(LatencyEstimator(path_s), run_s)
    (running,) = launched(commands)
    for back_s in (run_s + path_s + n * run_s for n in range(4)):
        follows_s = min(woken_s(commands))
        assert follows_s < back_s
        (following,) = launched(d.on_timer(follows_s))
        commands = finish(d, running, back_s)
        running = following


def test_every_second_batch_waits_for_a_result_where_the_router_has_little_time_to_spare() -> None:
    run_s, path_s = 0.020, 0.010
    latency = LatencyEstimator(path_s)
    latency.all_ahead = False
    d, commands = five_in_batches_of_one(latency, run_s)
    (running,) = launched(commands)
    (following,) = launched(d.on_timer(min(woken_s(commands))))
    commands = finish(d, running, run_s + path_s)
    assert [at_s for at_s in woken_s(commands) if at_s < 2 * run_s + path_s] == []
    commands = finish(d, following, 2 * run_s + path_s)
    assert queries(launched(commands)) == [[3]]


def test_a_query_that_comes_while_a_result_is_on_its_way_is_launched_at_once() -> None:
    d = measured()
    ask(d, 1)
    d.on_timer(FOLLOWS_S)
    assert queries(ask(d, 2, now_s=FOLLOWS_S + 0.001)) == [[2]]


def test_a_common_queue_goes_to_workers_that_are_idle_for_sure_before_those_whose_result_is_on_its_way() -> None:
    d = measured("w1", "w2", balancing="central")
    (first,) = ask(d, 1)
    assert first.worker == "w1"
    d.on_timer(FOLLOWS_S)
    assert [batch.worker for batch in ask(d, 2, 3, now_s=FOLLOWS_S + 0.001)] == ["w2", "w1"]


def test_without_measured_latency_results_are_waited_for() -> None:
    plan = endpoint()
    d = Dispatcher(Plan(1, {plan.name: plan}))
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    (first,) = ask(d, 1)
    ask(d, 2)
    assert launched(d.on_timer(1.0)) == []
    assert queries(launched(finish(d, first, 1.0))) == [[2]]


def test_where_runs_vary_by_more_than_the_way_takes_the_result_is_waited_for() -> None:
    d = measured()
    (slow,) = ask(d, 1, slo_s=1.0)  # runs of 40 ms
    assert slow.variant == "slow"
    assert d.workers["w1"].release_s == pytest.approx(0.040 + VARYING * (PRIOR_RUN_TAIL - 1.0) * 0.040)
    varying = LatencyEstimator(PATH_S).typical()
    assert varying.corrected(Candidate("v", 0.9, (0.0, 0.1, 0.2))).follow_s == (
        0.0,
        pytest.approx(0.1 + VARYING * (PRIOR_RUN_TAIL - 1.0) * 0.1),
        inf,
    )


def test_a_policy_that_asks_what_became_of_a_batch_is_asked_when_that_is_known() -> None:
    d = measured(selection=AdditiveIncrease())
    (first,) = ask(d, 1)
    ask(d, 2)
    assert launched(d.on_timer(0.1)) == []
    assert queries(launched(finish(d, first, 0.1))) == [[2]]


def test_both_batches_of_a_lost_worker_run_elsewhere() -> None:
    d = measured("w1", "w2")
    d.workers["w2"].variants = frozenset()
    d.reassign({"w2": []}, 0.0)
    ask(d, 1, 2)
    assert queries(launched(d.on_timer(FOLLOWS_S))) == [[2]]
    d.reassign({"w2": ["fast", "slow"]}, 0.003)
    assert queries(launched(d.on_workers_lost(["w1"], 0.004))) == [[1]]
    (again,) = (batch for batch in d.workers["w2"].under_way)
    assert again.worker == "w2"
    assert queries(launched(finish(d, again, 0.014))) == [[2]]


def test_both_run_alone_where_the_worker_died() -> None:
    d = measured("w1")
    ask(d, 1)
    ask(d, 2, 3)
    assert queries(launched(d.on_timer(FOLLOWS_S))) == [[2, 3]]
    d.on_workers_lost(["w1"], 0.004, died=True)
    (batch,) = launched(d.on_worker_ready("w3", WorkerInfo("cpu"), ["fast", "slow"], 0.005))
    ran = [[job.query.id for job in batch.jobs]]
    for _ in range(2):
        assert launched(d.on_timer(batch.launched_s + 0.1)) == [], "nothing follows one that may kill its worker"
        (batch,) = launched(finish(d, batch, batch.launched_s + 0.1))
        ran.append([job.query.id for job in batch.jobs])
    assert sorted(ran) == [[1], [2], [3]]


def test_a_suspect_waits_until_the_worker_has_nothing_else() -> None:
    d = measured("w1")
    ask(d, 1)
    ask(d, 2)
    assert queries(launched(d.on_timer(FOLLOWS_S))) == [[2]]
    d.on_workers_lost(["w1"], 0.004, died=True)
    (suspect,) = launched(d.on_worker_ready("w2", WorkerInfo("cpu"), ["fast", "slow"], 0.005))
    d.on_arrival(query(3, 0.0, 0.001), 0.006)  # due before the other suspect
    fresh = launched(finish(d, suspect, 0.010))
    assert queries(fresh) == [[3]]
    assert launched(d.on_timer(0.010 + FOLLOWS_S)) == [], "the other one does not follow"
    assert not rejected(d.on_workers_lost(["w2"], 0.013, died=True)), "it was not there when the worker died"
    ran = []
    (batch,) = launched(d.on_worker_ready("w3", WorkerInfo("cpu"), ["fast", "slow"], 0.014))
    for at_s in (0.02, 0.03):
        ran += [job.query.id for job in batch.jobs]
        following = launched(finish(d, batch, at_s))
        batch = following[0] if following else batch
    assert sorted(ran) == [2, 3]


def test_a_worker_that_hangs_is_given_up_once_and_loses_both() -> None:
    d = measured("w1", "w2")
    ask(d, 1, 2)
    ask(d, 3, 4)
    d.on_timer(FOLLOWS_S)
    for worker in ("w1", "w2"):
        assert len(d.workers[worker].under_way) == 2
    now_s, given_up, again = FOLLOWS_S, [], []
    while now_s < LEAST_UNPROVEN_S + LEAST_S:
        now_s += LOOK_EVERY_S
        for batch in d.workers["w2"].under_way:
            commands = finish(d, batch, now_s)
            again += launched(commands)
        commands = d.on_timer(now_s)
        given_up += [command for command in commands if isinstance(command, GiveUp)]
        again += launched(commands)
    (command,) = given_up
    assert (command.batch.worker, queries([command.batch])) == ("w1", [[1]])
    assert sorted(queries(again)) == [[1], [3]]
    assert {batch.worker for batch in again} == {"w2"}


def test_a_query_that_is_withdrawn_while_its_batch_waits_at_the_worker_gets_no_answer() -> None:
    d = measured()
    (first,) = ask(d, 1)
    ask(d, 2)
    (second,) = launched(d.on_timer(FOLLOWS_S))
    d.on_cancel(second.jobs[0].query)
    d.on_cancel(first.jobs[0].query)
    assert answered(finish(d, first, 0.011)) == []
    assert answered(finish(d, second, 0.015)) == []


def test_a_batch_that_raises_while_another_waits_behind_it_goes_on_elsewhere() -> None:
    d = measured("w1", "w2")
    ask(d, 1, 2)
    ask(d, 3)
    (behind,) = launched(d.on_timer(FOLLOWS_S))
    first = d.workers["w1"].under_way[0]
    commands = d.on_failed("w1", first.id, "broken", 0.004)
    assert rejected(commands) == {}
    assert d.workers["w1"].under_way == (behind,)
    assert answered(finish(d, behind, 0.012)) == [3]


def test_what_a_batch_waits_at_its_worker_is_queueing_time_of_its_queries() -> None:
    d = measured()
    (first,) = ask(d, 1)
    ask(d, 2)
    (second,) = launched(d.on_timer(FOLLOWS_S))
    finish(d, first, 0.011)
    (answer,) = answers(d.on_done("w1", second.id, [{}], 0.001, 0.016, waited_s=0.003))
    assert answer.queue_s == pytest.approx(FOLLOWS_S + 0.003)
    assert answer.latency_s - answer.queue_s - answer.run_s == pytest.approx(0.016 - FOLLOWS_S - 0.003 - 0.001)


def test_the_wait_for_the_run_before_makes_results_late_and_keeps_no_worker_busy() -> None:
    waiting, even = LatencyEstimator(PATH_S), LatencyEstimator(PATH_S)
    for number in range(400):
        waiting.on_batch("w", FAST, 1, 0.001, 0.016, 0.0, number * 0.1, waited_s=0.005)
        even.on_batch("w", FAST, 1, 0.001, 0.011, 0.0, number * 0.1)
    assert waiting.estimate("w").path_s == pytest.approx(even.estimate("w").path_s, rel=0.02)
    assert waiting.estimate("w").path_tail_s == pytest.approx(0.015, rel=0.1)
    assert even.estimate("w").path_tail_s == pytest.approx(0.010, rel=0.1)

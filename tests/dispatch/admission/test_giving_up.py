"""What leaves the queue when a batch forms, since nobody can meet it any more."""

from collections.abc import Sequence
from dataclasses import replace

import length_scene
import pytest

from catalog.errors import DeadlineMissed
from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.registry import create_balancer
from dispatch.dispatcher import Dispatcher
from dispatch.lengths.costs import LengthCosts
from dispatch.lengths.stage_lengths import StageLengths
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Job
from dispatch.queues.lane import Lane
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.worker_info import WorkerInfo
from dispatch_scene import finish, launched, query, rejected

SLO_S = 0.2
GPU = Candidate("v", 0.9, (0.0, *[0.005] * 32))
CPU = Candidate("v", 0.9, (0.0, *[0.080] * 32))
DUE_S = [0.02 + 0.16 * number / 59 for number in range(60)]


def two_workers(balancing: str = "central", devices: Sequence[str] = ("gpu", "cpu")) -> Dispatcher:
    """``a`` is a GPU, ``b`` a CPU."""
    stage = StagePlan({"gpu": (GPU,), "cpu": (CPU,)}, GreedySelection(), create_balancer(balancing))
    made = EndpointPlan.of_stage("digits", stage, slo_s=SLO_S, max_queued_rows=1000, admission=AdmissionRules())
    d = Dispatcher(Plan(1, {"digits": made}))
    for worker, device in zip("ab", devices, strict=True):
        d.on_worker_ready(worker, WorkerInfo(device), ["v"], 0.0)
    return d


def lane_of(d: Dispatcher, worker: str) -> Lane:
    (lane,) = d.workers[worker].lanes.values()
    return lane


def wait(lane: Lane, due_s: Sequence[float], rows: int = 1, length: int = 0, first_id: int = 100) -> None:
    """Jobs that came at 0 wait in the lane."""
    for number, deadline_s in enumerate(due_s, first_id):
        asked = query(number, 0.0, deadline_s, rows)
        lane.push(Job(number, asked, deadline_s, rows, asked.inputs, length=length))


def given_up(d: Dispatcher, lane: Lane, now_s: float = 0.0, *, pressed: bool = False) -> list[int]:
    """Ids of the jobs that leave the lane, until no more do."""
    admission = lane.endpoint.admission
    if pressed:
        admission.press(now_s)
    ids: list[int] = []
    while lost := admission.hopeless(lane, now_s):
        ids += [job.id for job in lost]
    return ids


@pytest.mark.parametrize("pressed", [False, True])
@pytest.mark.parametrize("idle", ["a", "b"])
def test_of_a_shared_queue_nothing_is_given_up_that_the_fastest_worker_can_meet(idle: str, pressed: bool) -> None:
    d = two_workers()
    lane = lane_of(d, idle)
    wait(lane, DUE_S)
    assert given_up(d, lane, pressed=pressed) == []
    wait(lane, [0.001, 0.0049, 0.0051], first_id=1)
    assert given_up(d, lane, pressed=pressed) == [1, 2]
    assert lane.queue.rows == 61


def test_a_worker_with_a_queue_of_its_own_gives_up_what_it_cannot_meet_itself() -> None:
    d = two_workers("round_robin")
    wait(lane_of(d, "b"), DUE_S)
    assert given_up(d, lane_of(d, "b")) == [100 + number for number, due_s in enumerate(DUE_S) if due_s < 0.08]
    wait(lane_of(d, "a"), DUE_S, first_id=200)
    assert given_up(d, lane_of(d, "a")) == []


def test_where_not_even_the_fastest_could_meet_anything_a_batch_of_the_worker_that_asks_stays() -> None:
    d = two_workers()
    lane = lane_of(d, "b")
    wait(lane, [0.001 + 1e-5 * number for number in range(40)])
    assert given_up(d, lane) == list(range(100, 108))
    assert lane.queue.rows == 32


def test_jobs_of_several_rows_are_judged_by_the_run_of_so_many() -> None:
    d = two_workers()
    lane = lane_of(d, "b")
    wait(lane, [0.0051, 0.0099], rows=40, first_id=1)  # two runs of the GPU
    wait(lane, [0.0101, 0.1], rows=40, first_id=3)
    assert given_up(d, lane) == [1, 2]


def test_a_slow_worker_that_is_idle_first_costs_nobody_an_answer() -> None:
    d = two_workers()
    batches = [batch for number in range(2) for batch in launched(d.on_arrival(query(number, 0.0, SLO_S), 0.0))]
    assert [batch.worker for batch in batches] == ["a", "b"]
    for number, due_s in enumerate(reversed(DUE_S), 10):
        assert rejected(d.on_arrival(query(number, 0.001, due_s), 0.001)) == {}
    commands = finish(d, batches[1], 0.002)
    assert rejected(commands) == {}
    assert [batch.worker for batch in launched(commands)] == ["b"]


@pytest.mark.parametrize("devices", [("gpu", "cpu"), ("cpu", "gpu")])
def test_what_some_worker_meets_is_let_in_whichever_is_named_first(devices: tuple[str, str]) -> None:
    d = two_workers(devices=devices)
    assert rejected(d.on_arrival(query(1, 0.0, SLO_S), 0.0)) == {}
    assert rejected(d.on_arrival(query(2, 0.001, 0.031), 0.001)) == {}
    assert rejected(d.on_arrival(query(3, 0.002, 0.004), 0.002)).keys() == {3}


def test_what_is_given_up_is_answered_with_why() -> None:
    d = two_workers()
    batches = [batch for number in range(2) for batch in launched(d.on_arrival(query(number, 0.0, SLO_S), 0.0))]
    for number in range(10, 60):
        d.on_arrival(query(number, 0.001, 0.1 if number < 20 else SLO_S), 0.001)
    assert rejected(finish(d, batches[1], 0.098)) == dict.fromkeys(range(10, 20), DeadlineMissed)


# -- where lengths differ -----------------------------------------------------------------------------------------

SHORT, LONG = 4, 46
WEIGHTS = {SHORT: 0.3, LONG: 2.5}
RATIOS = LengthCosts((SHORT, length_scene.TYPICAL, LONG), tuple((each,) * 33 for each in (0.3, 1.0, 2.5)))
LATE_S, TIMELY_S = 0.001, 0.19
"""Deadlines that nobody can meet, as one row takes 5.5 ms of the usual length, and that all can."""


def of_any_length() -> tuple[Dispatcher, Lane]:
    """The worker's batch has 32 rows of the usual length."""
    candidate = Candidate("v", 0.9, (0.0, *(0.005 + 0.0005 * rows for rows in range(1, 33))))
    made = length_scene.endpoint((candidate,))
    lengths = StageLengths(length_scene.rule(), length_scene.SHARE, {"cpu": {"v": RATIOS}})
    limits = replace(made.limits, admission=AdmissionRules())
    made = replace(made, limits=limits, stages={"": replace(made.stages[""], lengths=lengths)})
    d = Dispatcher(Plan(1, {"spans": made}))
    d.on_worker_ready("w", WorkerInfo("cpu"), ["v"], 0.0)
    lane = lane_of(d, "w")
    assert {length: lane.weight(length) for length in WEIGHTS} == pytest.approx(WEIGHTS)
    return d, lane


def test_short_rows_that_one_batch_holds_are_left_alone() -> None:
    d, lane = of_any_length()
    wait(lane, [LATE_S] * 100, length=SHORT)  # worth 30
    assert given_up(d, lane) == []


def test_of_short_rows_that_nobody_can_meet_a_batchs_worth_stays() -> None:
    d, lane = of_any_length()
    wait(lane, [LATE_S + 1e-6 * number for number in range(200)], length=SHORT)  # worth 60
    gone = given_up(d, lane)
    assert gone == list(range(100, 100 + len(gone)))
    assert lane.queue.rows == 106, "worth 31.8"


@pytest.mark.parametrize(("late", "timely"), [(5, 15), (16, 24), (24, 36), (39, 1)])
def test_of_long_rows_just_those_are_given_up_that_nobody_can_meet(late: int, timely: int) -> None:
    d, lane = of_any_length()
    wait(lane, [LATE_S] * late + [TIMELY_S] * timely, length=LONG)
    assert given_up(d, lane) == list(range(100, 100 + late)), "more waits than the 32 of a batch"


def test_of_long_rows_that_nobody_can_meet_a_batchs_worth_stays() -> None:
    d, lane = of_any_length()
    wait(lane, [LATE_S + 1e-6 * number for number in range(40)], length=LONG)  # worth 100
    assert given_up(d, lane) == list(range(100, 128))
    assert lane.queue.rows == 12


@pytest.mark.parametrize("length", [SHORT, LONG])
def test_a_job_that_is_worth_more_than_a_batch_stays_where_it_is_the_last(length: int) -> None:
    d, lane = of_any_length()
    rows = round(40 / WEIGHTS[length])
    wait(lane, [LATE_S, LATE_S], rows, length)
    assert given_up(d, lane) == [100]


@pytest.mark.parametrize("first", [SHORT, LONG])
def test_where_both_wait_the_late_ones_go_whichever_is_due_first(first: int) -> None:
    d, lane = of_any_length()
    second = LONG if first == SHORT else SHORT
    wait(lane, [LATE_S] * 20, length=first)
    wait(lane, [1.1 * LATE_S] * 20, length=second, first_id=200)
    wait(lane, [TIMELY_S] * 5, length=SHORT, first_id=300)
    assert given_up(d, lane) == [*range(100, 120), *range(200, 220)]

"""What was compared of a variant ends with it."""

from dataclasses import replace

from dispatch.commands import Launch
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.ballots import Ballots
from dispatch.load.known import KnownLoad
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import Batch
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.policy import Candidate
from dispatch.shadow.endpoint_shadow import EndpointShadow
from dispatch.shadow.rules import ShadowRules
from dispatch.worker_info import WorkerInfo
from dispatch_scene import FAST, SLOW, endpoint, launched, query

BAD = Candidate("bad", 0.8, FAST.latency_s)
OTHER_BAD = Candidate("bad", 0.6, FAST.latency_s)
BETTER = Candidate("better", 0.95, SLOW.latency_s)
EVERY = ShadowRules(share=1.0, ballots=Ballots(10))


def offering(*candidates: Candidate, answers: str = "bad") -> EndpointPlan:
    """One of the candidates answers, and every query is drawn."""
    made = replace(endpoint(), shadow=EVERY)
    load = KnownLoad([0.0], [1.0])
    return made.with_stage(candidates={"cpu": candidates}, selection=FixedSelection(answers), load=load)


def scene() -> tuple[Dispatcher, EndpointShadow]:
    """The bad variant answers; the slow one is the reference."""
    d = Dispatcher(Plan(1, {"digits": offering(BAD, FAST, SLOW)}))
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["bad", "fast", "slow", "better"], 0.0)
    return d, d.shadows.by_endpoint["digits"]


def change(d: Dispatcher, *candidates: Candidate, answers: str = "bad") -> None:
    d.apply(Plan(d.plan.version + 1, {"digits": offering(*candidates, answers=answers)}), 1000.0)


def say(d: Dispatcher, batch: Batch, label: int, now_s: float) -> list[Batch]:
    """The answer of a batch; gives the shadow runs that begin with it."""
    commands = d.on_done(batch.worker, batch.id, [{"label": [label]}], 0.001, now_s)
    return [each.batch for each in commands if isinstance(each, Launch) and each.batch.shadow]


def drawn(d: Dispatcher, number: int) -> list[Batch]:
    """The shadow run of a query that was answered with class 3."""
    (real,) = launched(d.on_arrival(query(number, float(number)), float(number)))
    return say(d, real, 3, number + 0.002)


def compare(d: Dispatcher, first: int, count: int, heard: int) -> None:
    """The reference gave this class to so many queries, which were answered with class 3."""
    for number in range(first, first + count):
        (run,) = drawn(d, number)
        say(d, run, heard, number + 0.05)


def test_a_fall_ends_with_the_variant_and_a_successor_of_its_name_begins_anew() -> None:
    d, shadow = scene()
    compare(d, 1, 40, heard=4)
    assert shadow.agreements["bad", "slow"].drifted
    change(d, FAST, SLOW, answers="fast")
    assert d.shadows.by_endpoint["digits"] is shadow
    assert shadow.agreements == {}
    change(d, BAD, FAST, SLOW)
    compare(d, 2000, 1, heard=3)
    successor = shadow.agreements["bad", "slow"]
    assert (successor.drifted, successor.compared) == (False, 1)


def test_another_accuracy_is_another_variant_and_the_same_plan_again_is_not() -> None:
    d, shadow = scene()
    compare(d, 1, 40, heard=4)
    known = shadow.agreements["bad", "slow"]
    change(d, BAD, FAST, SLOW)
    assert shadow.agreements == {("bad", "slow"): known}
    d.on_workers_lost(["w1"], 1000.0)
    assert shadow.agreements == {("bad", "slow"): known}, "that it has no worker just now is nothing new of it"
    change(d, OTHER_BAD, FAST, SLOW)
    assert shadow.agreements == {}


def test_comparisons_with_a_reference_that_is_gone_are_dropped_and_with_one_that_may_come_back_are_not() -> None:
    d, shadow = scene()
    compare(d, 1, 40, heard=4)
    change(d, BAD, FAST, SLOW, BETTER)
    assert shadow.reference == BETTER
    assert list(shadow.agreements) == [("bad", "slow")]
    change(d, BAD, FAST, BETTER)
    assert shadow.agreements == {}


def test_a_shadow_run_for_a_variant_that_is_gone_by_now_is_of_nobody() -> None:
    d, shadow = scene()
    (run,) = drawn(d, 1)
    change(d, FAST, SLOW, answers="fast")
    say(d, run, 4, 1000.1)
    assert (shadow.agreements, shadow.compared, shadow.dropped) == ({}, 0, 1)


def test_queries_that_wait_to_be_compared_go_with_the_variant_that_answered_them() -> None:
    d, shadow = scene()
    d.queues.by_name["digits"].feedback.share = 0.8
    assert drawn(d, 1) == []
    (real,) = launched(d.on_arrival(query(2, 2.0), 2.0))
    assert len(shadow.waiting) == 1
    change(d, FAST, SLOW, answers="fast")
    assert (len(shadow.waiting), shadow.dropped) == (0, 1)
    say(d, real, 3, 1000.1)
    assert shadow.drawn == 1, "an answer that comes after it was taken out is not drawn"

"""Votes in a dispatcher that loses workers."""

from collections.abc import Callable

import pytest

from catalog.errors import ConstraintUnmet, NoWorker
from dispatch.ensemble.chooser import EveryoneChooser, IntervalChooser, MemberChooser, WavesChooser
from dispatch.ensemble.member import Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.worker_info import WorkerInfo
from dispatch_scene import launched
from ensemble_scene import (
    DUE_S,
    EVERYONE,
    SLO_S,
    answered,
    ask,
    asking,
    flow,
    join,
    nothing_is_left,
    of_three,
    refused,
    running,
    say,
    scene,
)


def test_a_member_whose_worker_is_lost_does_not_vote() -> None:
    d, ensemble, chooser = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    assert answered(d.on_workers_lost(["b"], 0.02)) == []
    assert d.queues.rows("e") == 0, "its job went with it"
    (answer,) = answered(say(d, "c", 0.03, 1))
    assert answer.variant == "a+c"
    ask(d, 2, 0.04)
    assert chooser.asked[-1][1] == {"a", "c"}
    assert nothing_is_left(d, ensemble) is False
    d.on_cancel(asking(2, 0.04))
    for worker in ("a", "c"):
        say(d, worker, 0.05, 0)
    assert nothing_is_left(d, ensemble)


def test_where_the_last_one_out_loses_its_worker_those_that_voted_decide_at_once() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    say(d, "b", 0.01, 2)
    (answer,) = answered(d.on_workers_lost(["c"], 0.02))
    assert (answer.outputs["label"].tolist(), answer.done_s) == ([1], 0.02)
    assert nothing_is_left(d, ensemble)


def test_another_worker_of_the_member_runs_what_a_lost_one_ran() -> None:
    d, ensemble, _ = of_three()
    d.on_worker_ready("b2", WorkerInfo("cpu"), ["b"], 0.0)
    ask(d)
    lost = "b" if running(d, "b") else "b2"
    other = "b2" if lost == "b" else "b"
    d.on_workers_lost([lost], 0.01)
    assert running(d, other) == [1]
    say(d, other, 0.02, 2)
    assert len(answered(say(d, "a", 0.03, 2))) == 1
    say(d, "c", 0.04, 0)
    assert nothing_is_left(d, ensemble)


def test_where_all_workers_are_lost_a_query_waits_for_one_and_is_refused_at_its_deadline() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    commands = d.on_workers_lost(["a", "b", "c"], 0.01)
    assert refused(commands) == {}
    assert d.queues.rows("e") == 3
    d.on_timer(DUE_S)
    assert refused(d.on_timer(SLO_S)) == {1: NoWorker}
    assert nothing_is_left(d, ensemble)


def test_a_query_that_waited_is_answered_by_the_worker_that_comes_and_does_not_wait_for_the_others() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    d.on_workers_lost(["a", "b", "c"], 0.01)
    assert len(launched(join(d, "b", 0.02))) == 1
    (answer,) = answered(say(d, "b", 0.03, 2))
    assert (answer.variant, answer.outputs["label"].tolist()) == ("b", [2])
    assert nothing_is_left(d, ensemble)


def test_a_query_before_the_first_worker_is_asked_of_all_and_answered_by_those_that_come() -> None:
    made = flow(EVERYONE)
    d = scene(made, workers=())
    ask(d)
    assert d.queues.rows("e") == 3
    join(d, "c", 0.01)
    (answer,) = answered(say(d, "c", 0.02, 1))
    assert answer.variant == "c"
    assert nothing_is_left(d, made)


def test_a_query_that_voted_is_answered_where_all_workers_are_lost_when_its_time_is_up() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    say(d, "a", 0.01, 2)
    d.on_workers_lost(["a", "b", "c"], 0.02)
    (answer,) = answered(d.on_timer(DUE_S))
    assert answer.variant == "a"
    assert nothing_is_left(d, ensemble)


@pytest.mark.parametrize("choose", [WavesChooser, EveryoneChooser, IntervalChooser])
def test_what_lost_workers_alone_make_impossible_is_served_by_the_others(choose: Callable[..., MemberChooser]) -> None:
    members = [Member("a", 0.01, 0.9), Member("b", 0.06, 0.9)]
    d = scene(flow(choose(MemberSelector(members)), {"a": 0.9, "b": 0.9}))
    d.on_workers_lost(["a"], 0.01)
    assert refused(ask(d, 1, 0.02)) == {}
    (answer,) = answered(say(d, "b", 0.03, 1))
    assert answer.variant == "b"
    hurried = asking(2, 0.04)._replace(deadline_s=0.05)
    assert refused(d.on_arrival(hurried, 0.04)) == {2: ConstraintUnmet}, "which all of them could not"

"""Deadlines in pipelines: between stages, at twice the time, as policies see them, and who is woken when."""

from math import inf
from random import Random

import pytest

from catalog.errors import (
    DeadlineMissed,
)
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.commands import Launch, Reject
from dispatch.query import Query, StageKey
from dispatch.worker_info import WorkerInfo
from dispatch_scene import launched
from pipeline_scene import (
    SLO_S,
    ask,
    asking,
    done,
    fan_out,
    flow,
    nothing_is_left,
    numbers,
    plan,
    reason,
    refused,
    running,
    scene,
    sequence,
    stage,
    woken,
)


def test_late_queries_end_between_two_stages_where_they_are_dropped() -> None:
    made = sequence()
    d = scene(made, drop_late=True)
    ask(d)
    done(d, "a", 0.01)
    commands = done(d, "b", SLO_S)
    assert refused(commands) == {7: DeadlineMissed}
    assert reason(commands).startswith(
        "the deadline passed before all stages had run: stage 'b' was done 100.0 ms after"
    )
    assert launched(commands) == []
    assert nothing_is_left(d, made)


def test_the_last_result_answers_a_late_query_whatever_is_dropped() -> None:
    d = scene(flow(stage("a", x="query.x")), drop_late=True)
    ask(d)
    assert numbers(done(d, "a", SLO_S + 0.01)) == {7: [71]}


def test_whether_late_queries_are_dropped_may_change_with_the_plan() -> None:
    made = sequence()
    d = scene(made)
    ask(d)
    ask(d, 8)
    done(d, "a", 0.01)
    assert [batch.worker for batch in launched(done(d, "b", SLO_S))] == ["c"]
    d.apply(plan(made, 2, drop_late=True), SLO_S)
    assert refused(done(d, "a", SLO_S)) == {8: DeadlineMissed}


def test_a_query_is_given_up_at_twice_its_time_wherever_it_is() -> None:
    made = fan_out()
    d = scene(made, {"a": ["a"], "b": ["b"], "d": ["d"]})
    assert woken(ask(d)) == [2 * SLO_S]
    assert woken(ask(d, 8)) == []
    done(d, "a", 0.01)
    assert running(d, "b") == [7]
    d.on_worker_ready("c", WorkerInfo("cpu"), ["c"], 0.02)
    commands = d.on_timer(2 * SLO_S)
    assert refused(commands) == {7: DeadlineMissed, 8: DeadlineMissed}
    assert d.queues.rows("e") == 0
    assert launched(done(d, "b", 0.21)) == []
    assert launched(done(d, "c", 0.21)) == []
    done(d, "a", 0.22)
    assert nothing_is_left(d, made)


def test_a_query_that_is_too_old_between_two_stages_is_given_up_before_it_is_woken_for() -> None:
    made = sequence()
    d = scene(made)
    ask(d)
    commands = done(d, "a", 2 * SLO_S)
    assert refused(commands) == {7: DeadlineMissed}
    assert reason(commands) == "no answer after 200.0 ms, and the query had 100.0 ms; it was given up"
    assert launched(commands) == []


def test_who_waits_for_a_worker_that_never_comes_ends_at_its_deadline() -> None:
    made = sequence()
    d = scene(made, {"a": ["a"]})
    ask(d)
    assert woken(done(d, "a", 0.01)) == [SLO_S]
    assert 7 in refused(d.on_timer(SLO_S))
    assert nothing_is_left(d, made)


def test_a_wake_up_is_never_asked_for_in_the_past() -> None:
    made = sequence()
    d = scene(made, {"a": ["a"]})
    ask(d)
    assert woken(done(d, "a", SLO_S + 0.05)) == [SLO_S + 0.05], "no worker for the next stage, and the deadline is over"
    assert 7 in refused(d.on_timer(SLO_S + 0.05))


def test_queries_with_less_time_are_given_up_before_older_ones() -> None:
    made = sequence()
    d = scene(made)
    ask(d)
    assert woken(d.on_arrival(Query(8, "e", 0.01, 0.02, 1, asking(8).inputs), 0.01)) == [pytest.approx(0.03)]
    commands = d.on_timer(0.03)
    assert refused(commands) == {8: DeadlineMissed}
    assert woken(commands) == [2 * SLO_S]
    assert made.open_queries == 1


def test_a_flow_is_due_when_the_first_of_its_open_queries_is() -> None:
    made = sequence()
    random = Random(3)
    due_s: dict[int, float] = {}
    for number in range(300):
        allowed_s = random.random()
        query = Query(number, "e", 0.0, allowed_s, 1, asking(number).inputs)
        made.start(query, 0.0)
        due_s[number] = 2 * allowed_s
        while len(due_s) > 5:
            gone = random.choice(list(due_s))
            made.withdraw(Query(gone, "e", 0.0, 1.0))
            del due_s[gone]
        assert made.due_s == min(due_s.values())
    step = made.on_due(1.0)
    assert {outcome.query.id for outcome in step.outcomes if isinstance(outcome, Reject)} == {
        number for number, each_s in due_s.items() if each_s <= 1.0
    }
    assert made.due_s == min([each_s for each_s in due_s.values() if each_s > 1.0], default=inf)


def test_jobs_are_ordered_by_the_deadline_of_the_whole() -> None:
    made = sequence()
    d = scene(made, {"a": ["a"]})
    ask(d, 1)
    d.on_arrival(Query(2, "e", 0.0, 5.0, 1, asking(2).inputs), 0.0)
    ask(d, 3, 0.001)
    for _ in range(2):
        done(d, "a", 0.01)
    d.on_worker_ready("b", WorkerInfo("cpu"), ["b"], 0.02)
    assert running(d, "b") == [1, 3, 2]


@pytest.mark.parametrize(("after_s", "variant"), [(0.0, "a"), (0.095, "a-small")])
def test_policies_see_the_deadline_without_what_later_stages_need(after_s: float, variant: str) -> None:
    d = scene(sequence(), {"w": ["a", "a-small"]}, after_s={"a": after_s})
    (launch,) = [command for command in ask(d) if isinstance(command, Launch)]
    assert launch.batch.variant == variant
    assert launch.batch.jobs[0].deadline_s == SLO_S


def test_a_batch_is_late_for_its_stage_where_later_ones_have_no_time_left() -> None:
    d = scene(sequence(), {"w": ["a"]}, selection=AdditiveIncrease(), after_s={"a": 0.05})
    for number, done_s in ((1, 0.04), (2, 0.06)):
        ask(d, number)
        done(d, "w", done_s)
        last = d.workers["w"].lanes[StageKey("e", "a")].last
        assert last is not None
        assert last.late == (done_s > 0.05)

"""Votes in a dispatcher where time is short, members fail, and clients or endpoints go away."""

import pytest

from catalog.errors import BadRequest, DeadlineMissed, Saturated, UnknownEndpoint, VariantFailed
from dispatch.commands import Reject
from dispatch.plan import Plan
from dispatch_scene import launched
from ensemble_scene import (
    DUE_S,
    EVERYONE,
    SLO_S,
    answered,
    ask,
    asking,
    fail,
    flow,
    nothing_is_left,
    of_three,
    one_wave,
    plan,
    refused,
    running,
    say,
    scene,
    woken,
)


def test_shortly_before_the_deadline_those_that_voted_decide() -> None:
    d, ensemble, _ = of_three()
    assert woken(ask(d)) == [pytest.approx(DUE_S)]
    say(d, "a", 0.01, 1)
    (answer,) = answered(d.on_timer(DUE_S))
    assert (answer.outputs["label"].tolist(), answer.votes, answer.done_s) == ([1], {"a": [1]}, DUE_S)
    assert answer.deadline_met
    for worker in ("b", "c"):
        assert answered(say(d, worker, 0.2, 0)) == []
    assert nothing_is_left(d, ensemble)
    assert ensemble.due_s == float("inf")


def test_where_nobody_voted_by_then_the_first_that_does_answers() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    assert answered(d.on_timer(DUE_S)) == []
    (answer,) = answered(say(d, "b", 0.15, 2))
    assert (answer.outputs["label"].tolist(), answer.variant, answer.deadline_met) == ([2], "b", False)
    for worker in ("a", "c"):
        say(d, worker, 0.2, 0)
    assert nothing_is_left(d, ensemble)


def test_the_next_query_is_woken_for_when_the_first_one_was() -> None:
    d, _, _ = of_three()
    ask(d)
    assert woken(ask(d, 2, 0.01)) == [], "one that early is under way"
    assert woken(d.on_timer(DUE_S)) == [pytest.approx(DUE_S + 0.01)]


def test_late_queries_are_dropped_with_all_their_jobs_where_the_endpoint_does_that() -> None:
    made = flow(EVERYONE)
    d = scene(made, drop_late=True)
    ask(d)
    ask(d, 2)
    d.on_timer(DUE_S)
    assert refused(d.on_timer(SLO_S)) == {2: DeadlineMissed}, "the first one runs"
    (answer,) = answered(say(d, "a", 0.11, 1))
    assert answer.query.id == 1
    for worker in ("b", "c"):
        say(d, worker, 0.12, 0)
    assert nothing_is_left(d, made)


def test_a_late_job_is_out_while_others_that_voted_answer() -> None:
    made = flow(EVERYONE)
    d = scene(made, drop_late=True)
    ask(d)
    ask(d, 2, 0.02)
    for worker in ("a", "b"):
        say(d, worker, 0.03, 0)
    say(d, "a", 0.04, 1)
    (answer,) = answered(d.on_timer(0.02 + DUE_S))
    assert (answer.query.id, answer.variant) == (2, "a")
    for worker in ("b", "c"):
        say(d, worker, 0.13, 0)
    assert nothing_is_left(d, made)


def test_times_that_were_answered_leave_the_heap() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    for number in range(2, 500):
        late = asking(number, 0.0)._replace(deadline_s=1000.0 + number)
        d.on_arrival(late, 0.0)
        d.on_cancel(late)
    assert ensemble.open_queries == 1
    assert len(ensemble._due) <= 4
    assert ensemble.due_s == pytest.approx(DUE_S)


def test_a_member_that_raises_three_times_does_not_vote() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    for _ in range(3):
        assert running(d, "b") == [1]
        assert answered(fail(d, "b", 0.01)) == []
    assert running(d, "b") == []
    say(d, "a", 0.02, 2)
    (answer,) = answered(say(d, "c", 0.03, 2))
    assert (answer.outputs["label"].tolist(), answer.variant) == ([2], "a+c")
    assert nothing_is_left(d, ensemble)


def test_where_the_last_one_out_fails_those_that_voted_decide() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    say(d, "c", 0.01, 2)
    for _ in range(2):
        assert answered(fail(d, "b", 0.02)) == []
    (answer,) = answered(fail(d, "b", 0.02))
    assert answer.outputs["label"].tolist() == [1]
    assert nothing_is_left(d, ensemble)


@pytest.mark.parametrize(
    ("others", "whole"),
    [((), True), (("b",), True), (("b", "c"), False)],
    ids=["all vote", "b could change nothing", "b and c could"],
)
def test_an_answer_is_worth_the_whole_set_only_where_those_that_failed_could_change_nothing(
    others: tuple[str, ...], whole: bool
) -> None:
    d, ensemble, chooser = of_three()
    ask(d)
    for member in others:
        for _ in range(3):
            fail(d, member, 0.01)
    votes = [member for member in ("b", "c", "a") if member not in others]
    (answer,) = [answer for member in votes for answer in answered(say(d, member, 0.02, 2))]
    assert answer.accuracy == (EVERYONE.accuracy if whole else chooser.accuracy(("a",)))
    assert nothing_is_left(d, ensemble)


def test_where_all_members_fail_the_query_is_refused_with_the_last_error() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    outcomes = [refused(fail(d, worker, 0.01)) for worker in ("a", "b", "c") for _ in range(3)]
    assert [each for each in outcomes if each] == [{1: VariantFailed}]
    assert nothing_is_left(d, ensemble)


@pytest.mark.parametrize("said", [7, -1, [0, 0], 1.5])
def test_a_member_that_gives_no_class_does_not_vote(said: int) -> None:
    d, ensemble, _ = of_three()
    ask(d)
    ask(d, 2)
    commands = say(d, "a", 0.01, said)
    assert answered(commands) == []
    assert running(d, "a") == [2], "the worker goes on"
    say(d, "b", 0.02, 1)
    (answer,) = answered(say(d, "c", 0.03, 1))
    assert answer.variant == "b+c"
    say(d, "a", 0.04, 0)
    say(d, "b", 0.04, 0)
    say(d, "c", 0.05, 0)
    assert nothing_is_left(d, ensemble)


def test_where_no_member_gives_a_class_the_query_is_refused_in_words() -> None:
    made = flow(one_wave("a"))
    d = scene(made)
    ask(d)
    (reject,) = [command for command in say(d, "a", 0.01, 9) if isinstance(command, Reject)]
    assert isinstance(reject.error, VariantFailed)
    assert "variant 'a' failed on worker a: class 9; a vote among 3 needs one from 0 to 2" in str(reject.error)
    assert nothing_is_left(d, made)


def test_where_the_client_goes_away_all_jobs_do_and_late_results_come_to_nothing() -> None:
    d, ensemble, chooser = of_three()
    ask(d)
    ask(d, 2)
    say(d, "a", 0.01, 1)
    d.on_cancel(asking(2))
    d.on_cancel(asking(1))
    assert (d.queues.rows("e"), ensemble.open_queries) == (0, 0)
    commands = say(d, "b", 0.02, 1) + say(d, "c", 0.02, 1) + say(d, "a", 0.02, 1) + d.on_timer(DUE_S)
    assert answered(commands) == []
    assert refused(commands) == {}
    assert launched(commands) == []
    assert chooser.votes == []
    assert nothing_is_left(d, ensemble)
    d.on_cancel(asking(1))


def test_an_endpoint_that_is_dropped_refuses_what_waits_and_answers_what_runs() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    ask(d, 2)
    assert refused(d.apply(Plan(2, {}), 0.01)) == {2: UnknownEndpoint}
    assert answered(say(d, "a", 0.02, 1)) == []
    assert len(answered(say(d, "b", 0.02, 1))) == 1
    say(d, "c", 0.03, 1)
    assert nothing_is_left(d, ensemble)


def test_a_newer_plan_leaves_open_votes_as_they_are() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    d.apply(plan(ensemble, 2), 0.02)
    assert len(answered(say(d, "b", 0.03, 1))) == 1
    say(d, "c", 0.03, 1)
    assert nothing_is_left(d, ensemble)


def test_a_full_queue_refuses_a_query_with_all_its_jobs() -> None:
    made = flow(EVERYONE)
    d = scene(made, max_queued_rows=3)
    ask(d)
    assert refused(ask(d, 2)) == {}
    assert refused(ask(d, 3)) == {3: Saturated}
    assert (d.queues.rows("e"), made.open_queries) == (3, 2)


def test_a_query_whose_members_are_more_than_the_queue_ever_holds_is_refused_for_good() -> None:
    made = flow(EVERYONE)
    d = scene(made, max_queued_rows=2)
    assert refused(ask(d)) == {1: BadRequest}
    assert nothing_is_left(d, made)

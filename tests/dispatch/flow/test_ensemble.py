"""Queries that members vote on, in a dispatcher: when they are answered, by whom, and what is left behind."""

import numpy as np
import pytest

from catalog.errors import ConstraintUnmet, DeadlineMissed, NoWorker, Saturated, UnknownEndpoint, VariantFailed
from dispatch.commands import BatchDone, Reject
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.chooser import IntervalChooser
from dispatch.ensemble.member import Constraint, Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.weights import VoteCounts
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import Plan
from dispatch.query import Query, StageKey
from dispatch.worker_info import WorkerInfo
from dispatch_scene import Patient, launched
from ensemble_scene import (
    DUE_S,
    LATENCY_S,
    SLO_S,
    SaidChooser,
    answered,
    ask,
    asking,
    fail,
    flow,
    join,
    nothing_is_left,
    one_wave,
    plan,
    refused,
    running,
    say,
    scene,
    two_waves,
    woken,
)

EVERYONE = one_wave("a", "b", "c")


def of_three(**options: bool) -> tuple[Dispatcher, EnsembleFlow, SaidChooser]:
    chooser = SaidChooser(EVERYONE)
    made = flow(chooser)
    return scene(made, **options), made, chooser


# -- one wave -------------------------------------------------------------------------------------------------


def test_all_members_of_the_first_wave_run_at_once() -> None:
    d, _, _ = of_three()
    batches = launched(ask(d))
    assert [(batch.worker, batch.variant, batch.stage) for batch in batches] == [
        (name, name, StageKey("e", name)) for name in ("a", "b", "c")
    ]
    assert len({job.id for batch in batches for job in batch.jobs}) == 3


def test_a_query_is_answered_when_its_vote_can_no_longer_change_and_the_others_are_withdrawn() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    ask(d, 2)
    assert answered(say(d, "a", 0.01, 2)) == []
    (answer,) = answered(say(d, "b", 0.02, 2))
    assert (answer.query.id, answer.outputs["label"].tolist(), answer.variant) == (1, [2], "a+b")
    assert answer.votes == {"a": [2], "b": [2]}
    assert (answer.launched_s, answer.done_s, answer.run_s, answer.batch_rows) == (0.0, 0.02, LATENCY_S, 1)
    assert answer.accuracy == 0.9
    late = say(d, "c", 0.03, 1)
    assert answered(late) == []
    assert [command.withdrawn for command in late if isinstance(command, BatchDone)] != [frozenset()]
    assert running(d, "c") == [2]
    say(d, "a", 0.04, 0)
    assert len(answered(say(d, "c", 0.04, 0))) == 1
    assert d.queues.rows("e") == 0
    say(d, "b", 0.05, 1)
    assert nothing_is_left(d, ensemble)


def test_jobs_that_wait_are_withdrawn_from_their_queues() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    ask(d, 2)
    say(d, "a", 0.01, 0)
    say(d, "b", 0.01, 0)
    assert d.queues.rows("e") == 1, "the second query at c, behind the first"
    say(d, "a", 0.02, 1)
    assert len(answered(say(d, "b", 0.02, 1))) == 1
    assert d.queues.rows("e") == 0
    assert launched(say(d, "c", 0.03, 0)) == []
    assert nothing_is_left(d, ensemble)


def test_where_members_disagree_all_are_waited_for() -> None:
    d, ensemble, chooser = of_three()
    ask(d)
    assert answered(say(d, "a", 0.01, 0)) == []
    assert answered(say(d, "b", 0.02, 1)) == []
    (answer,) = answered(say(d, "c", 0.03, 1))
    assert answer.outputs["label"].tolist() == [1]
    assert answer.variant == "a+b+c"
    assert nothing_is_left(d, ensemble)
    ((winner, votes, confidence),) = chooser.votes
    assert (winner, votes) == (1, {"a": 0, "b": 1, "c": 1})
    assert 0.5 < confidence < 1.0


def test_a_lead_that_the_last_member_could_just_make_up_is_waited_for() -> None:
    """Four equal members: two against two is a tie, which the lower class wins."""
    made = flow(one_wave("a", "b", "c", "d"), dict.fromkeys("abcd", 0.8))
    d = scene(made)
    ask(d)
    say(d, "a", 0.01, 2)
    assert answered(say(d, "b", 0.01, 2)) == []
    assert answered(say(d, "c", 0.01, 1)) == []
    (answer,) = answered(say(d, "d", 0.01, 1))
    assert answer.outputs["label"].tolist() == [1]


def test_sure_members_outvote_two_that_are_not() -> None:
    d = scene(flow(EVERYONE, {"a": 0.95, "b": 0.5, "c": 0.5}))
    ask(d)
    (answer,) = answered(say(d, "a", 0.01, 2))
    assert (answer.outputs["label"].tolist(), answer.variant) == ([2], "a"), "b and c together weigh less"


def test_the_name_of_the_voters_does_not_depend_on_who_came_first() -> None:
    d, _, _ = of_three()
    ask(d)
    say(d, "c", 0.01, 1)
    (answer,) = answered(say(d, "a", 0.01, 1))
    assert answer.variant == "a+c"
    assert list(answer.votes) == ["a", "c"]


# -- deadlines ------------------------------------------------------------------------------------------------


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


# -- failures and workers -------------------------------------------------------------------------------------


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


# -- second waves ---------------------------------------------------------------------------------------------


def two() -> tuple[Dispatcher, EnsembleFlow]:
    """``a`` and ``b`` first; ``c`` where they lead by one or less."""
    made = flow(two_waves("ab", "c"))
    return scene(made), made


def test_a_second_wave_is_not_asked_where_the_first_leads_by_more_than_the_margin() -> None:
    d, ensemble = two()
    ask(d)
    assert answered(say(d, "a", 0.01, 1)) == [], "b could still lower the lead"
    (answer,) = answered(say(d, "b", 0.02, 1))
    assert answer.variant == "a+b"
    assert running(d, "c") == []
    assert nothing_is_left(d, ensemble)


def test_a_second_wave_is_asked_where_the_first_leads_by_little() -> None:
    d, ensemble = two()
    assert [batch.worker for batch in launched(ask(d))] == ["a", "b"]
    say(d, "a", 0.01, 1)
    commands = say(d, "b", 0.02, 2)
    assert answered(commands) == []
    (batch,) = launched(commands)
    assert (batch.worker, batch.jobs[0].deadline_s) == ("c", SLO_S)
    (answer,) = answered(say(d, "c", 0.03, 2))
    assert (answer.variant, answer.outputs["label"].tolist()) == ("a+b+c", [2])
    assert nothing_is_left(d, ensemble)


def test_a_second_wave_that_would_not_be_back_in_time_is_not_asked() -> None:
    for at_s, asked in ((DUE_S - LATENCY_S - 1e-6, True), (DUE_S - LATENCY_S + 1e-6, False), (SLO_S, False)):
        d, _ = two()
        ask(d)
        say(d, "a", 0.01, 1)
        commands = say(d, "b", at_s, 2)
        assert bool(launched(commands)) is asked
        assert [answer.variant for answer in answered(commands)] == ([] if asked else ["a+b"])


def test_a_lead_of_the_margin_itself_is_too_little_whatever_rounding_makes_of_it() -> None:
    made = flow(one_wave("a"))
    lead = made.weights.rows[1][0]
    for margin, asked in ((lead, True), (lead * (1.0 - 1e-15), True), (lead - 1e-6, False)):
        again = flow(two_waves("a", "bc", stop_margin=margin))
        d = scene(again)
        ask(d)
        assert bool(launched(say(d, "a", 0.01, 1))) is asked


def test_a_second_wave_has_only_members_that_a_worker_holds() -> None:
    made = flow(two_waves("a", "bc", stop_margin=99.0))
    d = scene(made)
    ask(d)
    d.on_workers_lost(["b"], 0.01)
    assert [batch.worker for batch in launched(say(d, "a", 0.02, 1))] == ["c"]
    (answer,) = answered(say(d, "c", 0.03, 1))
    assert answer.variant == "a+c"
    assert nothing_is_left(d, made)


def test_where_nobody_holds_the_second_wave_the_first_decides() -> None:
    made = flow(two_waves("a", "bc", stop_margin=99.0))
    d = scene(made, workers="a")
    ask(d)
    (answer,) = answered(say(d, "a", 0.02, 1))
    assert answer.variant == "a"
    assert nothing_is_left(d, made)


def test_where_the_first_wave_fails_the_second_is_asked_at_once() -> None:
    made = flow(two_waves("a", "bc"))
    d = scene(made)
    ask(d)
    for _ in range(2):
        fail(d, "a", 0.01)
    assert [batch.worker for batch in launched(fail(d, "a", 0.01))] == ["b", "c"]
    say(d, "b", 0.02, 1)
    assert len(answered(say(d, "c", 0.02, 1))) == 1
    assert nothing_is_left(d, made)


def test_where_the_first_wave_loses_its_workers_the_second_is_asked_at_once() -> None:
    made = flow(two_waves("a", "bc"))
    d = scene(made)
    ask(d)
    assert [batch.worker for batch in launched(d.on_workers_lost(["a"], 0.01))] == ["b", "c"]
    say(d, "b", 0.02, 1)
    assert len(answered(say(d, "c", 0.02, 1))) == 1
    assert nothing_is_left(d, made)


def test_members_of_the_second_wave_that_are_lost_while_it_is_open_are_not_waited_for() -> None:
    d, ensemble = two()
    ask(d)
    say(d, "a", 0.01, 1)
    say(d, "b", 0.02, 2)
    (answer,) = answered(d.on_workers_lost(["c"], 0.03))
    assert (answer.variant, answer.outputs["label"].tolist()) == ("a+b", [1])
    assert nothing_is_left(d, ensemble)


def test_a_first_wave_of_one_is_woken_for_when_the_second_is_asked() -> None:
    made = flow(two_waves("a", "bc", stop_margin=99.0))
    d = scene(made)
    assert woken(ask(d)) == [], "there is nothing to answer with before the first vote"
    assert woken(say(d, "a", 0.01, 1)) == [pytest.approx(DUE_S)]
    (answer,) = answered(d.on_timer(DUE_S))
    assert answer.variant == "a"


# -- rows -----------------------------------------------------------------------------------------------------


def test_each_row_has_its_own_vote_and_the_closest_decides_when_all_are_answered() -> None:
    d, ensemble, chooser = of_three()
    ask(d, rows=3)
    assert answered(say(d, "a", 0.01, [0, 1, 2])) == []
    assert answered(say(d, "b", 0.02, [0, 1, 0])) == [], "the last row is open"
    (answer,) = answered(say(d, "c", 0.03, [1, 1, 0]))
    assert answer.outputs["label"].tolist() == [0, 1, 0]
    assert answer.votes == {"a": [0, 1, 2], "b": [0, 1, 0], "c": [1, 1, 0]}
    assert [(winner, votes) for winner, votes, _ in chooser.votes] == [
        (0, {"a": 0, "b": 0, "c": 1}),
        (1, {"a": 1, "b": 1, "c": 1}),
        (0, {"a": 2, "b": 0, "c": 0}),
    ]
    assert nothing_is_left(d, ensemble)


def test_queries_of_several_rows_share_a_batch() -> None:
    d, ensemble, _ = of_three()
    ask(d, 1, rows=2)
    for number, rows in ((2, 1), (3, 2)):
        ask(d, number, rows=rows)
    for worker in ("a", "b"):
        say(d, worker, 0.01, [0, 1])
    assert running(d, "a") == [2, 3]
    say(d, "a", 0.02, [2], [1, 0])
    found = answered(say(d, "b", 0.03, [2], [1, 0]))
    assert [answer.outputs["label"].tolist() for answer in found] == [[2], [1, 0]]
    assert {answer.batch_rows for answer in found} == {3}
    say(d, "c", 0.04, [0, 1])
    assert nothing_is_left(d, ensemble)


# -- clients that leave, and endpoints that do ----------------------------------------------------------------


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


def test_an_endpoint_that_is_dropped_asks_no_second_wave() -> None:
    d, ensemble = two()
    ask(d)
    d.apply(Plan(2, {}), 0.01)
    say(d, "a", 0.02, 1)
    commands = say(d, "b", 0.02, 2)
    assert [answer.variant for answer in answered(commands)] == ["a+b"]
    assert launched(commands) == []
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


# -- what is asked for ----------------------------------------------------------------------------------------


def test_members_may_run_for_a_share_of_the_querys_time() -> None:
    chooser = SaidChooser(EVERYONE)
    d = scene(flow(chooser, latency_share=0.4))
    d.on_arrival(asking(1, accuracy=0.87), 0.0)
    assert chooser.asked[0] == (Constraint(0.04, 0.87), frozenset("abc"))


def test_queries_with_the_same_objective_ask_the_same_whenever_they_come() -> None:
    """0.1 s after 1234.567 s is 0.0999999998 s later, and half of it 49 ms and a bit."""
    chooser = SaidChooser(EVERYONE)
    d = scene(flow(chooser))
    for number in range(1, 200):
        d.on_arrival(asking(number, 1234.567 + 0.0123 * number), 1234.567 + 0.0123 * number)
    assert {constraint for constraint, _ in chooser.asked} == {Constraint(0.05)}


def test_queries_that_ask_for_no_accuracy_get_the_endpoints() -> None:
    chooser = SaidChooser(EVERYONE)
    made = flow(chooser, accuracy=0.8)
    d = scene(made)
    for number, accuracy in ((1, None), (2, 0.7)):
        d.on_arrival(asking(number, accuracy=accuracy), 0.0)
    assert [constraint.accuracy for constraint, _ in chooser.asked] == [0.8, 0.7]
    assert made.constraint(asking(3)) == Constraint(0.05, 0.8)


def test_an_ensemble_is_served_where_one_member_is() -> None:
    d = scene(flow(EVERYONE), workers=())
    assert not d.queues.served("e")
    join(d, "b", 0.0)
    assert d.queues.served("e")
    d.on_workers_lost(["b"], 0.0)
    assert not d.queues.served("e")


def test_what_cannot_be_met_is_refused_and_leaves_nothing() -> None:
    chooser = SaidChooser(EVERYONE)
    chooser.raises = {0.99: ConstraintUnmet("at most 0.9 is possible")}
    made = flow(chooser)
    d = scene(made)
    (reject,) = d.on_arrival(asking(1, accuracy=0.99), 0.0)
    assert isinstance(reject, Reject)
    assert str(reject.error) == "at most 0.9 is possible"
    assert nothing_is_left(d, made)
    assert len(launched(ask(d, 2))) == 3


def test_with_best_effort_the_most_that_there_is_answers() -> None:
    chooser = SaidChooser(EVERYONE)
    chooser.raises = {0.99: ConstraintUnmet("no")}
    d = scene(flow(chooser, best_effort=True))
    assert len(launched(d.on_arrival(asking(1, accuracy=0.99), 0.0))) == 3
    assert [constraint for constraint, _ in chooser.asked] == [Constraint(0.05, 0.99), Constraint(0.05)]
    chooser.raises[None] = ConstraintUnmet("not that fast either")
    assert refused(d.on_arrival(asking(2, accuracy=0.99), 0.0)) == {2: ConstraintUnmet}


def test_with_best_effort_the_time_that_there_is_gives_way_last() -> None:
    members = [Member(name, 0.06, 0.8) for name in "abc"]
    made = flow(IntervalChooser(MemberSelector(members)), best_effort=True)
    d = scene(made)
    assert len(launched(ask(d))) == 3, "none takes 50 ms or less"


# -- weights that change --------------------------------------------------------------------------------------


def test_open_votes_keep_the_weights_that_they_began_with() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    alike = np.full((3, 3), 100.0)
    ensemble.weights.put(VoteCounts(seen=alike, right=np.tile([90.0, 33.0, 33.0], (3, 1)), said=alike))
    assert sum(ensemble.weights.largest[1:]) < 0.3, "by these, b and c cannot make up for a"
    assert answered(say(d, "b", 0.02, 2)) == []
    (answer,) = answered(say(d, "c", 0.03, 2))
    assert answer.outputs["label"].tolist() == [2]
    ask(d, 2, 0.04)
    (answer,) = answered(say(d, "a", 0.05, 1))
    assert answer.variant == "a", "by the new weights"


# -- policies -------------------------------------------------------------------------------------------------


def test_a_policy_that_waits_for_company_is_asked_again_and_withdrawn_jobs_are_no_company() -> None:
    made = flow(EVERYONE)
    d = scene(made, selection=Patient(rows=2, margin_s=0.03))
    commands = ask(d)
    assert launched(commands) == []
    assert woken(commands)[-1] == pytest.approx(SLO_S - 0.03)
    d.on_cancel(asking(1))
    assert launched(ask(d, 2, 0.01)) == [], "it waits alone"
    assert {batch.worker for batch in launched(d.on_timer(0.08))} == {"a", "b", "c"}


def test_query_ids_need_not_be_those_of_jobs() -> None:
    d, ensemble, _ = of_three()
    for number in (1_000_000, 1_000_007):
        d.on_arrival(Query(number, "e", 0.0, SLO_S), 0.0)
    for worker in ("a", "b"):
        say(d, worker, 0.01, 1)
    assert ensemble.open_queries == 1

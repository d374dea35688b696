"""Queries that members vote on, in a dispatcher: who is asked, and when they are answered."""

import numpy as np
import pytest

from catalog.errors import ConstraintUnmet
from dispatch.commands import BatchDone, Reject
from dispatch.ensemble.chooser import IntervalChooser
from dispatch.ensemble.member import Constraint, Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.weights import VoteCounts
from dispatch.query import Query, StageKey
from dispatch_scene import Patient, launched
from ensemble_scene import (
    EVERYONE,
    LATENCY_S,
    SLO_S,
    SaidChooser,
    answered,
    ask,
    asking,
    flow,
    join,
    nothing_is_left,
    of_three,
    one_wave,
    refused,
    running,
    say,
    scene,
    woken,
)


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
    what = "at most 0.9 is possible. Members may run for 50% of a query's time, and this one has 100 ms"
    assert str(reject.error) == what
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

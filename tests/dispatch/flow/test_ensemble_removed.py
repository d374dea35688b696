"""Ensembles that are removed, and may come again under their name, while their queries are under way."""

from dispatch.dispatcher import Dispatcher
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import Plan
from ensemble_scene import (
    DUE_S,
    EVERYONE,
    answered,
    ask,
    flow,
    nothing_is_left,
    of_three,
    plan,
    running,
    say,
    woken,
)


def _removed() -> tuple[Dispatcher, EnsembleFlow]:
    d, ensemble, _ = of_three()
    ask(d)
    say(d, "a", 0.01, 0)
    d.apply(Plan(2, {}), 0.02)
    return d, ensemble


def test_those_that_voted_decide_shortly_before_the_deadline_of_a_query_of_a_removed_endpoint() -> None:
    d, ensemble = _removed()
    assert woken(d.on_timer(0.03)) == [DUE_S]
    (answer,) = answered(d.on_timer(DUE_S))
    assert (answer.votes, answer.done_s) == ({"a": [0]}, DUE_S)
    for worker in "bc":
        assert answered(say(d, worker, 30.0, 1)) == []
    assert nothing_is_left(d, ensemble)


def test_they_do_so_beside_another_endpoint_of_the_same_name() -> None:
    d, old = _removed()
    new = flow(EVERYONE)
    d.apply(plan(new, 3), 0.03)
    ask(d, 2, 0.03)
    assert running(d, "a") == [2]
    assert [each.query.id for each in answered(d.on_timer(DUE_S))] == [1]
    for worker in "bc":
        say(d, worker, 0.1, 1)
        assert running(d, worker) == [2]
    say(d, "a", 0.11, 1)
    assert [each.query.id for each in answered(say(d, "b", 0.11, 1))] == [2]
    say(d, "c", 0.11, 1)
    assert nothing_is_left(d, old)
    assert nothing_is_left(d, new)


def test_the_first_vote_answers_where_there_was_none_in_time() -> None:
    d, ensemble, _ = of_three()
    ask(d)
    d.apply(Plan(2, {}), 0.02)
    assert answered(d.on_timer(DUE_S)) == []
    assert [each.votes for each in answered(say(d, "c", 0.2, 1))] == [{"c": [1]}]
    for worker in "ab":
        assert answered(say(d, worker, 0.3, 0)) == []
    assert nothing_is_left(d, ensemble)

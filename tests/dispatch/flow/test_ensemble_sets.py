"""What an answer says its members are worth, sets that wait for all of them, and sets that are gone."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from dispatch.ensemble.chooser import WavesChooser
from dispatch.ensemble.member import Constraint, Member, MemberSet
from dispatch.ensemble.selector import MemberSelector
from ensemble_scene import (
    DUE_S,
    EVERYONE,
    LATENCY_S,
    MEMBERS,
    SLO_S,
    SaidChooser,
    answered,
    ask,
    fail,
    flow,
    join,
    nothing_is_left,
    of_three,
    one_wave,
    running,
    say,
    scene,
    two,
    two_waves,
)


def test_where_the_others_would_change_nothing_the_answer_is_worth_what_the_set_is() -> None:
    d, _, _ = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    (answer,) = answered(say(d, "b", 0.02, 1))
    assert (answer.variant, answer.accuracy) == ("a+b", 0.9)


def test_where_all_have_voted_the_answer_is_worth_what_the_set_is() -> None:
    d, _, _ = of_three()
    ask(d)
    for member, said in (("a", 0), ("b", 1)):
        assert answered(say(d, member, 0.01, said)) == []
    (answer,) = answered(say(d, "c", 0.02, 2))
    assert (answer.variant, answer.accuracy) == ("a+b+c", 0.9)


def test_where_some_have_not_voted_the_answer_is_worth_what_the_others_are() -> None:
    d, _, chooser = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    say(d, "c", 0.02, 2)
    (answer,) = answered(d.on_timer(DUE_S))
    assert (answer.variant, answer.accuracy) == ("a+c", chooser.accuracy(("a", "c")))


def test_a_member_that_failed_lowers_what_an_answer_is_worth() -> None:
    d, _, chooser = of_three()
    ask(d)
    say(d, "a", 0.01, 1)
    say(d, "b", 0.01, 2)
    for _ in range(3):
        done = fail(d, "c", 0.02)
    (answer,) = answered(done)
    assert (answer.variant, answer.accuracy) == ("a+b", chooser.accuracy(("a", "b")))


def test_a_first_wave_that_leads_by_enough_is_worth_what_the_set_is() -> None:
    d, _ = two()
    ask(d)
    say(d, "a", 0.01, 1)
    (answer,) = answered(say(d, "b", 0.02, 1))
    assert (answer.variant, answer.accuracy) == ("a+b", 0.9)


def test_a_second_wave_that_cannot_be_back_in_time_lowers_what_the_answer_is_worth() -> None:
    chooser = SaidChooser(two_waves("ab", "c"))
    d = scene(flow(chooser))
    ask(d)
    say(d, "a", DUE_S - 0.006, 1)
    (answer,) = answered(say(d, "b", DUE_S - 0.005, 2))
    assert (answer.variant, answer.accuracy) == ("a+b", chooser.accuracy(("a", "b")))


class Chosen(MemberSelector):
    """Always selects ``a`` and ``b``, and then ``c``."""

    def select(self, constraint: Constraint, available: Collection[str] | None = None) -> MemberSet:
        return two_waves("ab", "c")


@pytest.mark.parametrize("said", [1, 2])
def test_waves_without_a_member_that_nobody_holds_are_worth_what_the_others_are(said: int) -> None:
    selector = Chosen([Member(name, LATENCY_S, accuracy) for name, accuracy in (("a", 0.8), ("b", 0.7), ("c", 0.95))])
    ensemble = flow(WavesChooser(selector))
    d = scene(ensemble, "ab")
    ask(d)
    say(d, "a", 0.01, 1)
    (answer,) = answered(say(d, "b", 0.02, said))
    assert (answer.variant, answer.accuracy) == ("a+b", selector.accuracy(("a", "b")))
    assert answer.accuracy < two_waves("ab", "c").accuracy
    assert nothing_is_left(d, ensemble)


def test_a_member_of_the_second_wave_that_is_lost_before_it_lowers_what_the_answer_is_worth() -> None:
    chooser = SaidChooser(two_waves("a", "bc", stop_margin=99.0))
    d = scene(flow(chooser))
    ask(d)
    d.on_workers_lost(["b"], 0.01)
    say(d, "a", 0.02, 1)
    (answer,) = answered(say(d, "c", 0.03, 1))
    assert (answer.variant, answer.accuracy) == ("a+c", chooser.accuracy(("a", "c")))


def test_a_set_that_is_to_be_heard_in_full_is_waited_for_until_the_time_is_up() -> None:
    chooser = SaidChooser(replace(EVERYONE, wait_for_all=True))
    ensemble = flow(chooser)
    d = scene(ensemble)
    ask(d)
    for member in "ab":
        assert answered(say(d, member, 0.01, 1)) == [], "decided, and not all were heard"
    (answer,) = answered(say(d, "c", 0.02, 2))
    assert answer.votes == {"a": [1], "b": [1], "c": [2]}
    assert [votes for _, votes, _ in chooser.votes] == [{"a": 1, "b": 1, "c": 2}]
    ask(d, 2, 1.0)
    assert answered(say(d, "a", 1.01, 1)) == []
    (late,) = answered(d.on_timer(1.001 + DUE_S))
    assert late.variant == "a"
    say(d, "b", 1.2, 1)
    say(d, "c", 1.2, 1)
    assert nothing_is_left(d, ensemble)


def gone(d_workers: str, again: str) -> tuple[SaidChooser, list[int]]:
    """A query is asked of ``a`` alone, which is lost while others are there; then the chooser says ``again``."""
    chooser = SaidChooser(one_wave("a"))
    ensemble = flow(chooser)
    d = scene(ensemble, d_workers)
    ask(d)
    chooser.members = one_wave(*again)
    d.on_workers_lost(["a"], 0.01)
    return chooser, [query for worker in d.workers for query in running(d, worker)]


@pytest.mark.parametrize("others", ["b", "bc"])
def test_a_query_whose_members_are_all_gone_is_asked_of_others(others: str) -> None:
    chooser, runs = gone("a" + others, others)
    assert runs == [1] * len(others)
    (_, _), (constraint, served) = chooser.asked
    assert (constraint.accuracy, served) == (None, frozenset(others))


def test_where_the_others_are_gone_too_a_query_waits_for_its_own() -> None:
    chooser = SaidChooser(one_wave("a"))
    ensemble = flow(chooser)
    d = scene(ensemble, "ab")
    ask(d)
    d.on_workers_lost(["a"], 0.01)
    assert running(d, "b") == [], "the chooser names nobody but a"
    join(d, "a", 0.02)
    assert running(d, "a") == [1]
    (answer,) = answered(say(d, "a", 0.03, 1))
    assert answer.deadline_met
    assert nothing_is_left(d, ensemble)


def test_an_answer_of_others_is_told_with_what_they_were_chosen_for() -> None:
    chooser = SaidChooser(one_wave("a"))
    ensemble = flow(chooser, accuracy=0.8)
    d = scene(ensemble, MEMBERS)
    ask(d)
    chooser.members = one_wave("b", "c", accuracy=0.7)
    d.on_workers_lost(["a"], 0.01)
    say(d, "b", 0.02, 1)
    (answer,) = answered(say(d, "c", 0.02, 1))
    assert (answer.variant, answer.accuracy) == ("b+c", 0.7)
    assert [constraint.accuracy for constraint, _ in chooser.asked] == [0.8, None]
    assert answer.latency_s < SLO_S

"""Three ways to choose members, behind one seam."""

from collections.abc import Collection

import pytest

from catalog.errors import ConstraintUnmet
from dispatch.ensemble import chooser as choosing
from dispatch.ensemble.chooser import CHOOSERS, EveryoneChooser, IntervalChooser, WavesChooser
from dispatch.ensemble.member import Constraint, Member, MemberSet
from dispatch.ensemble.scaling import IntervalVotes, MemberScaling
from dispatch.ensemble.selector import MemberSelector

MEMBERS = [Member(f"m{n}", 0.010 + 0.005 * n, 0.7 + 0.04 * n, packing_factor=5.0 - n) for n in range(5)]
NAMES = tuple(member.name for member in MEMBERS)
LOOSE = Constraint(0.05, 0.8)
TIGHT = Constraint(0.02, 0.78)


def selector() -> MemberSelector:
    return MemberSelector(MEMBERS)


def agree(chooser: IntervalChooser, constraint: Constraint, voting: tuple[str, ...], rows: int = 5) -> None:
    for _ in range(rows):
        chooser.on_vote(constraint, 1, dict.fromkeys(voting, 1), 0.99)


def test_names_in_a_config_are_the_choosers() -> None:
    assert {"waves": WavesChooser, "intervals": IntervalChooser, "everyone": EveryoneChooser} == CHOOSERS


def test_waves_are_the_selectors_choice() -> None:
    assert WavesChooser(selector()).choose(LOOSE, NAMES, 0.0) == selector().select(LOOSE, NAMES)
    with pytest.raises(ConstraintUnmet):
        WavesChooser(selector()).choose(Constraint(0.05, 0.999), NAMES, 0.0)


class Chosen(MemberSelector):
    """Always selects two waves; counts how often."""

    calls = 0

    def select(self, constraint: Constraint, available: Collection[str] | None = None) -> MemberSet:
        assert available is None, "sets are of all members: what is served changes all the time"
        self.calls += 1
        return MemberSet((("m0", "m1"), ("m2", "m4")), 0.9, 0.04, 0.015, 0.02, 0.3)


def test_waves_are_without_members_that_nobody_holds() -> None:
    chooser = WavesChooser(Chosen(MEMBERS))
    assert chooser.choose(LOOSE, NAMES, 0.0).waves == (("m0", "m1"), ("m2", "m4"))
    assert chooser.choose(LOOSE, ("m1", "m2", "m4"), 0.0).waves == (("m1",), ("m2", "m4"))
    assert chooser.choose(LOOSE, ("m0", "m1", "m3"), 0.0).waves == (("m0", "m1"), ())
    again = chooser.choose(LOOSE, ("m0", "m4"), 0.0)
    assert (again.waves, again.stop_margin) == ((("m0",), ("m4",)), 0.3)


def test_waves_without_some_members_are_worth_what_the_others_are() -> None:
    made = Chosen(MEMBERS)
    chooser = WavesChooser(made)
    assert chooser.choose(LOOSE, NAMES, 0.0).accuracy == 0.9
    for served, remain in (
        (("m1", "m2", "m4"), ("m1", "m2", "m4")),
        (("m0", "m1", "m3"), ("m0", "m1")),
        (("m0",), ("m0",)),
        (("m3", "m4"), ("m3", "m4")),
    ):
        chosen = chooser.choose(LOOSE, served, 0.0)
        assert (chosen.members, chosen.accuracy) == (remain, made.accuracy(remain))
        assert chosen.accuracy != 0.9


def test_where_nobody_holds_the_first_wave_all_that_remain_are_asked() -> None:
    chooser = WavesChooser(Chosen(MEMBERS))
    assert chooser.choose(LOOSE, ("m2", "m3"), 0.0).waves == (("m2", "m3"),)
    with pytest.raises(ConstraintUnmet, match="no member of the ensemble is available"):
        chooser.choose(LOOSE, (), 0.0)


def test_what_a_set_of_members_is_worth_is_the_selectors_word() -> None:
    for made in CHOOSERS.values():
        assert made(selector()).accuracy(("m4", "m3", "m2")) == selector().accuracy(("m2", "m3", "m4"))


def test_intervals_hear_all_that_they_ask() -> None:
    assert IntervalChooser(selector()).choose(LOOSE, NAMES, 0.0).wait_for_all
    assert not EveryoneChooser(selector()).choose(LOOSE, NAMES, 0.0).wait_for_all
    assert not WavesChooser(selector()).choose(LOOSE, NAMES, 0.0).wait_for_all


def test_everyone_is_all_that_are_fast_enough_and_served() -> None:
    chooser = EveryoneChooser(selector())
    assert chooser.choose(LOOSE, NAMES, 0.0).waves == (NAMES,)
    assert chooser.choose(TIGHT, ["m0", "m1", "m4"], 0.0).members == ("m0", "m1")
    chooser.on_vote(LOOSE, 1, {"m0": 1}, 0.9)
    chooser.on_truth(LOOSE, 1, 1, {"m0": 1})
    assert chooser.choose(LOOSE, NAMES, 99.0).waves == (NAMES,)


def test_intervals_begin_with_all_and_drop_those_that_are_not_needed() -> None:
    chooser = IntervalChooser(selector(), interval_s=30.0)
    assert chooser.choose(LOOSE, NAMES, 100.0).members == NAMES
    agree(chooser, LOOSE, NAMES)
    assert chooser.choose(LOOSE, NAMES, 129.9).members == NAMES
    assert chooser.choose(LOOSE, NAMES, 130.0).members == ("m2", "m3", "m4")
    assert chooser.choose(LOOSE, NAMES, 160.0).members == ("m2", "m3", "m4"), "an interval without votes"


def test_truths_say_that_a_member_is_needed_again() -> None:
    chooser = IntervalChooser(selector(), interval_s=1.0)
    chooser.choose(LOOSE, NAMES, 0.0)
    agree(chooser, LOOSE, NAMES)
    left = chooser.choose(LOOSE, NAMES, 1.0).members
    agree(chooser, LOOSE, left)
    for _ in range(40):
        chooser.on_truth(LOOSE, 0, 1, dict.fromkeys(left, 1))
    assert chooser.choose(LOOSE, NAMES, 2.0).members == ("m1", *left)


def test_each_constraint_is_scaled_on_its_own() -> None:
    chooser = IntervalChooser(selector(), interval_s=1.0)
    chooser.choose(LOOSE, NAMES, 0.0)
    chooser.choose(TIGHT, NAMES, 0.0)
    agree(chooser, LOOSE, NAMES)
    assert chooser.choose(LOOSE, NAMES, 1.0).members == ("m2", "m3", "m4")
    assert chooser.choose(TIGHT, NAMES, 1.0).members == ("m0", "m1", "m2"), "all that are fast enough"


def test_without_an_accuracy_the_target_is_that_of_all() -> None:
    chooser = IntervalChooser(selector(), interval_s=1.0)
    constraint = Constraint(0.05)
    chooser.choose(constraint, NAMES, 0.0)
    chooser.on_vote(constraint, 1, dict.fromkeys(NAMES, 1), 0.6)
    assert chooser.choose(constraint, NAMES, 1.0).members == NAMES
    chooser.on_vote(constraint, 1, dict.fromkeys(NAMES, 1), 0.95)
    assert chooser.choose(constraint, NAMES, 2.0).members == ("m2", "m3", "m4")


def test_members_that_nobody_holds_are_left_out_and_where_no_other_is_left_all_are_asked() -> None:
    chooser = IntervalChooser(selector(), interval_s=1.0)
    chooser.choose(LOOSE, NAMES, 0.0)
    agree(chooser, LOOSE, NAMES)
    assert chooser.choose(LOOSE, ("m0", "m2", "m3"), 1.0).members == ("m2", "m3")
    assert chooser.choose(LOOSE, ("m0", "m1"), 1.0).members == ("m0", "m1")


def test_votes_of_all_while_nobody_holds_those_that_are_left_make_no_later_query_fail() -> None:
    chooser = IntervalChooser(selector(), interval_s=1.0)
    chooser.choose(LOOSE, NAMES, 0.0)
    agree(chooser, LOOSE, NAMES)
    assert chooser.choose(LOOSE, NAMES, 1.0).members == ("m2", "m3", "m4")
    for now_s, left in ((2.0, 2), (3.0, 2), (4.0, 2)):
        agree(chooser, LOOSE, NAMES)  # asked of all before, and answered after
        assert len(chooser.choose(LOOSE, NAMES, now_s).members) == left


def test_an_interval_that_fails_is_over_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = IntervalChooser(selector(), interval_s=1.0)
    chooser.choose(LOOSE, NAMES, 0.0)
    agree(chooser, LOOSE, NAMES)

    def broken(scaling: MemberScaling, votes: IntervalVotes) -> tuple[str, ...]:
        raise ArithmeticError(f"{votes.majorities.total()} rows")

    with monkeypatch.context() as patch:
        patch.setattr(MemberScaling, "on_interval", broken)
        with pytest.raises(ArithmeticError, match="5 rows"):
            chooser.choose(LOOSE, NAMES, 1.0)
        assert chooser.choose(LOOSE, NAMES, 1.5).members == NAMES
        with pytest.raises(ArithmeticError, match="0 rows"):
            chooser.choose(LOOSE, NAMES, 2.0)
    assert chooser.choose(LOOSE, NAMES, 3.0).members == NAMES


def test_the_constraint_that_was_asked_for_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "SCALED_AT_MOST", 2)
    chooser = IntervalChooser(selector(), interval_s=1.0)
    first, second, third = (Constraint(0.05, accuracy) for accuracy in (0.80, 0.81, 0.82))
    for constraint in (first, second):
        chooser.choose(constraint, NAMES, 0.0)
        agree(chooser, constraint, NAMES)
    assert len(chooser.choose(first, NAMES, 1.0).members) == 3
    chooser.choose(third, NAMES, 1.0)
    assert len(chooser.choose(first, NAMES, 1.0).members) == 3, "asked for after the second"
    assert len(chooser.choose(second, NAMES, 1.0).members) == 5, "begins anew"
    chooser.on_vote(third, 1, {"m0": 1}, 0.9)
    chooser.on_truth(third, 1, 1, {"m0": 1})


def test_a_latency_that_no_member_meets_is_refused_and_leaves_nothing_behind() -> None:
    chooser = IntervalChooser(selector())
    for _ in range(2):
        with pytest.raises(ConstraintUnmet, match="no member answers within"):
            chooser.choose(Constraint(0.001, 0.8), NAMES, 0.0)


def test_intervals_refuse_an_accuracy_that_no_members_reach() -> None:
    chooser = IntervalChooser(selector())
    with pytest.raises(ConstraintUnmet, match=r"accuracy of 0.8000 within 20.0 ms; at most 0.7840 is possible"):
        chooser.choose(Constraint(0.02, 0.8), NAMES, 0.0)

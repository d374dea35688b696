"""Algorithm 1: fewer members while more agree than are needed, one more when the accuracy falls."""

from collections.abc import Sequence

import pytest

from dispatch.ensemble.member import Member
from dispatch.ensemble.scaling import ACCURACY_MARGIN, JUDGED_AT_LEAST, IntervalVotes, MemberScaling

FIVE = [Member(f"m{n}", 0.01, 0.7 + 0.04 * n, packing_factor=5.0 - n) for n in range(5)]


def interval(
    voting: Sequence[str], agreeing: int, rows: int = 40, right: float = 1.0, wrong: Sequence[str] = ()
) -> IntervalVotes:
    """So many agree on every row; the vote is right on this share; members that are ``wrong`` always are."""
    votes = IntervalVotes()
    for row in range(rows):
        said = {name: 1 if place < agreeing else 0 for place, name in enumerate(voting)}
        votes.on_vote(1, said, 0.9)
        truth = {name: 0 if name in wrong else 1 for name in voting}
        votes.on_truth(1, 1 if row < right * rows else 0, truth)
    return votes


@pytest.mark.parametrize("members", [1, 2, 3, 4, 5])
def test_where_all_agree_a_majority_of_them_is_left(members: int) -> None:
    scaling = MemberScaling(FIVE[:members], 0.9)
    scaling.on_interval(interval(scaling.voting, agreeing=members))
    assert len(scaling.voting) == members // 2 + 1


def test_where_just_a_majority_agrees_nobody_goes() -> None:
    scaling = MemberScaling(FIVE, 0.9)
    assert scaling.on_interval(interval(scaling.voting, agreeing=3)) == ("m0", "m1", "m2", "m3", "m4")
    assert len(scaling.on_interval(interval(scaling.voting, agreeing=4))) == 4


def test_what_most_rows_say_decides_and_of_equals_the_larger_majority() -> None:
    votes = IntervalVotes()
    for agreeing in (3, 3, 5, 5, 4):
        votes.on_vote(1, {f"m{n}": int(n < agreeing) for n in range(5)}, 1.0)
    scaling = MemberScaling(FIVE, 0.9)
    assert len(scaling.on_interval(votes)) == 3


def test_the_least_accurate_of_the_interval_go_first() -> None:
    scaling = MemberScaling(FIVE, 0.9)
    votes = interval(scaling.voting, agreeing=5, wrong=("m1", "m4"))
    assert scaling.on_interval(votes) == ("m0", "m2", "m3"), "not by what they were thought to be"


def test_members_that_were_not_judged_go_by_their_own_accuracy() -> None:
    votes = IntervalVotes()
    votes.on_vote(1, {f"m{n}": 1 for n in range(5)}, 0.95)
    assert MemberScaling(FIVE, 0.9).on_interval(votes) == ("m2", "m3", "m4")


def test_of_equals_the_one_with_the_least_packing_factor_goes() -> None:
    scaling = MemberScaling(FIVE, 0.9)
    assert scaling.on_interval(interval(scaling.voting, agreeing=5)) == ("m0", "m1", "m2")


def test_members_go_only_from_the_margin_above_the_target() -> None:
    for right, left in ((0.9, 5), (1.0, 3)):
        scaling = MemberScaling(FIVE, 1.0 - ACCURACY_MARGIN)
        assert len(scaling.on_interval(interval(scaling.voting, agreeing=5, right=right))) == left


def test_one_comes_back_at_a_time_the_most_accurate_first() -> None:
    scaling = MemberScaling(FIVE, 0.9)
    scaling.on_interval(interval(scaling.voting, agreeing=5))
    assert scaling.voting == ("m0", "m1", "m2")
    low = interval(scaling.voting, agreeing=2, right=0.5)
    assert scaling.on_interval(low) == ("m0", "m1", "m2", "m4")
    assert scaling.on_interval(low) == ("m0", "m1", "m2", "m4", "m3")
    assert scaling.on_interval(low) == ("m0", "m1", "m2", "m4", "m3"), "nobody is left to come"


def test_nothing_changes_between_target_and_margin() -> None:
    scaling = MemberScaling(FIVE, 0.9)
    scaling.on_interval(interval(scaling.voting, agreeing=5))
    before = scaling.voting
    assert scaling.on_interval(interval(before, agreeing=3, right=0.9)) == before


def test_an_interval_without_votes_changes_nothing() -> None:
    scaling = MemberScaling(FIVE, 0.9)
    empty = IntervalVotes()
    assert empty.accuracy is None
    assert scaling.on_interval(empty) == tuple(member.name for member in FIVE)
    only_truths = IntervalVotes()
    only_truths.on_truth(1, 0, {"m0": 0})
    assert len(scaling.on_interval(only_truths)) == 5


def test_where_the_truth_of_few_is_known_the_mean_confidence_stands_in() -> None:
    votes = IntervalVotes()
    votes.on_vote(1, {"m0": 1}, 0.5)
    votes.on_vote(1, {"m0": 1}, 1.0)
    assert votes.accuracy == 0.75
    for judged in range(JUDGED_AT_LEAST):
        assert votes.accuracy == 0.75, judged
        assert votes.member_accuracy(FIVE[0]) == FIVE[0].accuracy, "one wrong label is no reason to go"
        votes.on_truth(1, 1, {"m0": 0})
    assert votes.accuracy == 1.0
    assert votes.member_accuracy(FIVE[0]) == 0.0


def test_the_last_member_stays() -> None:
    scaling = MemberScaling(FIVE[:1], 0.5)
    for _ in range(3):
        assert scaling.on_interval(interval(scaling.voting, agreeing=1)) == ("m0",)


def test_votes_of_a_larger_set_leave_a_majority_of_those_that_vote() -> None:
    scaling = MemberScaling(FIVE, 0.5)
    for left in (3, 2, 2, 2):  # of 5, of 3, and of 2, of whom both are needed
        assert len(scaling.on_interval(interval(("m0", "m1", "m2", "m3", "m4"), agreeing=5))) == left


def test_votes_of_a_larger_set_leave_the_only_member() -> None:
    scaling = MemberScaling(FIVE[:1], 0.5)
    assert scaling.on_interval(interval(("m0", "m1", "m2"), agreeing=3)) == ("m0",)


def test_an_ensemble_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="an ensemble needs at least one member"):
        MemberScaling([], 0.9)

"""Which members vote: the cheapest that do, in one wave or two, and what is said where nobody does."""

import numpy as np
import pytest

from catalog.errors import ConstraintUnmet
from catalog.votes import RecordedVotes
from dispatch.ensemble import selector as selecting
from dispatch.ensemble.cascades import MAX_SUBSETS_OF, Cascades, cascades
from dispatch.ensemble.estimate import JointVotes, binomial_accuracy
from dispatch.ensemble.member import Constraint, Member
from dispatch.ensemble.selector import ACCURACY_MARGIN, MemberSelector
from vote_scene import confusion, drawn_votes

CHEAP = Member("cheap", 0.005, 0.75, packing_factor=10.0)
MIDDLE = Member("middle", 0.010, 0.80, packing_factor=5.0)
OTHER = Member("other", 0.012, 0.80, packing_factor=5.0)
LARGE = Member("large", 0.040, 0.86, packing_factor=1.0)
SLOW = Member("slow", 0.090, 0.90, packing_factor=0.5)


def votes(*members: Member, rows: int = 1500, together: float = 0.05, seed: int = 1) -> RecordedVotes:
    """Of the members' accuracies, that on the rows on which they err together included."""
    return drawn_votes({m.name: confusion([m.accuracy / (1.0 - together)] * 4) for m in members}, rows, seed, together)


def counted(*members: Member) -> MemberSelector:
    return MemberSelector(members, votes(*members))


ALL = (CHEAP, MIDDLE, OTHER, LARGE, SLOW)
BY_NAME = {member.name: member for member in ALL}


def test_a_single_member_suffices_where_it_is_accurate_enough() -> None:
    chosen = MemberSelector(ALL).select(Constraint(0.05, 0.75))
    assert chosen.waves == (("cheap",),)
    assert (chosen.accuracy, chosen.latency_s, chosen.mean_members) == (0.75, 0.005, 1.0)
    assert counted(*ALL).select(Constraint(0.05, 0.70)).waves == (("cheap",),)


def test_of_single_members_the_cheapest_is_taken_within_the_margin() -> None:
    members = MemberSelector((MIDDLE, LARGE))
    assert members.select(Constraint(0.05, 0.80 + 0.9 * ACCURACY_MARGIN)).members == ("middle",)
    assert members.select(Constraint(0.05, 0.80 + 1.2 * ACCURACY_MARGIN)).members == ("large",)


def test_without_votes_three_cheap_members_stand_in_for_an_expensive_one() -> None:
    third = Member("third", 0.011, 0.80, packing_factor=5.0)
    chosen = MemberSelector((MIDDLE, OTHER, third, Member("large", 0.04, 0.89, packing_factor=1.0))).select(
        Constraint(0.02, 0.89)
    )
    assert chosen.waves == (("middle", "other", "third"),), "the large one is too slow"
    assert chosen.accuracy == pytest.approx(binomial_accuracy(3, 0.8))
    assert chosen.latency_s == chosen.mean_latency_s == chosen.first_s == 0.012


def test_without_votes_and_without_an_accuracy_the_most_that_there_is_is_taken() -> None:
    assert MemberSelector((CHEAP, MIDDLE, OTHER)).select(Constraint(0.05)).members == ("middle", "other", "cheap")
    guessing = Member("guessing", 0.001, 0.4)
    assert MemberSelector((guessing, MIDDLE, OTHER)).select(Constraint(0.05)).members == ("middle",)


def surely(every: Cascades, sure: float) -> list[float]:
    """What each way gets right for sure: where it says the same as all members it is as good as those, and where it
    says something else, that it is better may be luck, as may be how seldom it does."""
    everyone, found = int(np.argmax(every.first)), []
    for accuracy, changed in zip(every.accuracy.tolist(), every.changed.tolist(), strict=True):
        error = np.sqrt(changed * every.rows) / every.rows
        found.append(max(every.accuracy[everyone] - changed - 2.0 * error, accuracy - sure * error))
    return found


def loses_little(every: Cascades) -> list[bool]:
    """Against the best way, for sure; less sure where none of those would be cheaper than all members."""
    kept: list[bool] = []
    for sure in (4.0, 2.0):
        known = surely(every, sure)
        kept = [each >= max(known) - selecting.LOST_AT_MOST for each in known]
        if min(cost for cost, keep in zip(every.cost, kept, strict=True) if keep) < every.cost[np.argmax(every.first)]:
            break
    return kept


@pytest.mark.parametrize("accuracy", [0.78, 0.84, 0.86, None])
@pytest.mark.parametrize("latency_s", [0.012, 0.05, 0.2])
def test_no_way_that_meets_the_constraint_is_cheaper(accuracy: float | None, latency_s: float) -> None:
    recorded = votes(*ALL)
    constraint = Constraint(latency_s, accuracy)
    fast = [m for m in ALL if m.latency_s <= latency_s]
    limit_s = max(s for m in fast for s in (m.latency_s, 2 * m.latency_s) if s <= latency_s)
    every = cascades(fast, JointVotes(recorded), limit_s)
    meets = np.array(loses_little(every)) if accuracy is None else every.accuracy >= accuracy - ACCURACY_MARGIN
    try:
        chosen = MemberSelector(ALL, recorded).select(constraint)
    except ConstraintUnmet:
        assert not meets.any()
        return
    costs = {m.name: m.cost for m in ALL}
    assert sum(costs[name] * share for name, share in chosen.shares.items()) == pytest.approx(every.cost[meets].min())
    assert chosen.latency_s <= latency_s
    if accuracy is not None:
        assert chosen.accuracy >= accuracy - ACCURACY_MARGIN


def test_limits_between_those_of_one_or_two_members_are_one() -> None:
    """Twice 10 ms and twice 12 ms are limits of their own; whatever is between them is the lower one."""
    members = counted(MIDDLE, OTHER)
    for just_s, within_s in ((0.010, 0.0119), (0.012, 0.0199), (0.020, 0.0239), (0.024, 9.0)):
        chosen = members.select(Constraint(just_s))
        assert members.select(Constraint(within_s)) is chosen
        assert chosen.latency_s <= just_s
    assert len({id(members.select(Constraint(s))) for s in (0.010, 0.012, 0.020, 0.024)}) == 4


def test_a_set_that_is_better_by_luck_alone_is_not_taken_for_more_than_all_members() -> None:
    """Where the most is asked for, what is chosen loses little against all members for sure, whatever its count."""
    for seed in range(5):
        recorded = votes(*ALL, rows=300, seed=seed)
        chosen = MemberSelector(ALL, recorded).select(Constraint(0.2))
        every = cascades(ALL, JointVotes(recorded), 0.18)
        first, second = (sum(1 << ALL.index(BY_NAME[m]) for m in wave) for wave in (*chosen.waves, ())[:2])
        share = chosen.shares[chosen.waves[-1][0]] if second else 0.0
        same = (every.first == first) & (every.second == second) & (every.escalated == share)
        (index,) = np.flatnonzero(same)
        assert surely(every, 2.0)[index] >= every.accuracy[every.everyone] - selecting.LOST_AT_MOST - 1e-12


def test_what_is_prepared_need_not_be_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    members = counted(CHEAP, MIDDLE, OTHER)
    members.prepare()
    monkeypatch.setattr(selecting, "cascades", lambda *_: pytest.fail("was not prepared"))
    for latency_s in np.arange(0.005, 0.05, 0.0007):
        members.select(Constraint(float(latency_s)))
        members.select(Constraint(float(latency_s), 0.5))
    MemberSelector(ALL).prepare()  # without votes there is nothing to


def test_a_second_wave_is_asked_only_of_some_queries_where_that_is_cheaper() -> None:
    chosen = counted(CHEAP, MIDDLE, OTHER, LARGE).select(Constraint(0.2, 0.905))
    assert len(chosen.waves) == 2
    first, second = chosen.waves
    assert "large" in second, "the expensive one comes last"
    assert chosen.members == first + second
    assert set(chosen.shares) == set(chosen.members)
    assert all(chosen.shares[name] == 1.0 for name in first)
    escalated = chosen.shares["large"]
    assert 0.0 < escalated < 1.0
    assert all(chosen.shares[name] == escalated for name in second)
    assert chosen.stop_margin > 0.0
    assert chosen.first_s < chosen.mean_latency_s < chosen.latency_s <= 0.2
    assert chosen.mean_members == pytest.approx(len(first) + escalated * len(second))


def test_two_waves_are_asked_only_where_both_fit() -> None:
    members = counted(CHEAP, MIDDLE, OTHER, LARGE)
    assert len(members.select(Constraint(0.0451, 0.85)).waves) == 2
    for accuracy in (0.80, 0.83, 0.85):
        assert members.select(Constraint(0.041, accuracy)).latency_s <= 0.041


def test_an_accuracy_out_of_reach_is_refused_with_the_one_that_is_possible() -> None:
    members = counted(CHEAP, MIDDLE, OTHER)
    with pytest.raises(ConstraintUnmet) as refused:
        members.select(Constraint(0.0300, 0.99))
    text = str(refused.value)
    assert "no members reach an accuracy of 0.9900 within 30.0 ms" in text, "what was asked for"
    possible = float(text.split("at most ")[1].split(" ")[0])
    assert members.select(Constraint(0.03, possible)).accuracy == pytest.approx(possible, abs=ACCURACY_MARGIN)
    with pytest.raises(ConstraintUnmet):
        members.select(Constraint(0.03, possible + ACCURACY_MARGIN + 1e-3))


def test_without_votes_the_possible_accuracy_is_named_too() -> None:
    expected = binomial_accuracy(3, 0.75)
    with pytest.raises(ConstraintUnmet, match=rf"at most {expected:.4f} is possible; ask for less"):
        MemberSelector((CHEAP, MIDDLE, OTHER)).select(Constraint(0.05, 0.99))


def test_a_latency_out_of_reach_is_refused_with_the_fastest() -> None:
    for members in (counted(*ALL), MemberSelector(ALL)):
        for choose in (members.select, members.full):
            with pytest.raises(ConstraintUnmet, match=r"within 4\.0 ms; the fastest, 'cheap', takes 5\.0 ms"):
                choose(Constraint(0.004, 0.5))


def test_a_mean_latency_bounds_the_mean_over_queries() -> None:
    members = counted(CHEAP, MIDDLE, OTHER, LARGE)
    free = members.select(Constraint(0.2, 0.905))
    bounded = members.select(Constraint(0.2, 0.88, mean_latency_s=0.95 * free.mean_latency_s))
    assert bounded.mean_latency_s <= 0.95 * free.mean_latency_s
    with pytest.raises(ConstraintUnmet, match=r"within 200\.0 ms and 10\.0 ms on average; at most 0\."):
        members.select(Constraint(0.2, 0.905, mean_latency_s=0.010))
    nearest = members.select(Constraint(0.2, None, mean_latency_s=0.006))
    assert nearest.mean_latency_s <= 0.006, "the nearest to all members that is fast enough"


@pytest.mark.parametrize("accuracy", [None, 0.5])
def test_a_mean_latency_out_of_reach_is_said(accuracy: float | None) -> None:
    for members in (counted(*ALL), MemberSelector(ALL)):
        with pytest.raises(ConstraintUnmet, match=r"within 3\.0 ms on average; the fastest, 'cheap', takes 5\.0 ms"):
            members.select(Constraint(0.05, accuracy, mean_latency_s=0.003))


def test_members_that_are_asked_at_once_are_all_as_fast_as_the_mean() -> None:
    constraint = Constraint(0.2, None, mean_latency_s=0.011)
    assert set(MemberSelector(ALL).full(constraint).members) == {"cheap", "middle"}
    assert set(MemberSelector(ALL).select(constraint).members) <= {"cheap", "middle"}


def test_repeated_constraints_are_answered_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(selecting, "cascades", lambda *args: calls.append(args) or cascades(*args))
    members = counted(CHEAP, MIDDLE, OTHER)
    first = members.select(Constraint(0.0301, 0.8))
    assert members.select(Constraint(0.0302, 0.8)) is first, "no wave or two waves take between 30.1 and 30.2 ms"
    assert members.select(Constraint(0.0301, 0.80001)) is first
    members.select(Constraint(0.0301, 0.82))
    assert len(calls) == 1, "another accuracy needs no other ways"
    members.select(Constraint(0.0301, 0.75), ["cheap", "middle"])
    members.select(Constraint(0.0110, 0.75))
    assert len(calls) == 3


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "REMEMBERED", 3)
    monkeypatch.setattr(selecting, "CASCADES_REMEMBERED", 2)
    members = counted(CHEAP, MIDDLE, OTHER)
    expected = {}
    for _ in range(2):
        for latency_s in (0.006, 0.0105, 0.013, 0.02, 0.03):
            for accuracy in (0.70, 0.72):
                chosen = members.select(Constraint(latency_s, accuracy))
                assert expected.setdefault((latency_s, accuracy), chosen) == chosen
    assert len(members._sets) <= 3
    assert len(members._cascades) <= 2


def test_only_available_members_are_chosen() -> None:
    for members in (counted(*ALL), MemberSelector(ALL)):
        assert members.select(Constraint(0.05, 0.7), {"middle", "large", "unknown"}).members == ("middle",)
        assert set(members.full(Constraint(0.05), ["large", "cheap"]).members) == {"large", "cheap"}
        for choose in (members.select, members.full):
            with pytest.raises(ConstraintUnmet, match="no member of the ensemble is available"):
                choose(Constraint(0.05, 0.7), ())


def test_a_limit_that_two_members_just_take_suffices() -> None:
    """0.005 + 0.010 is not 0.015 in binary: limits are compared with the very sums."""
    exact = counted(CHEAP, MIDDLE).select(Constraint(CHEAP.latency_s + MIDDLE.latency_s, None))
    assert exact.latency_s <= CHEAP.latency_s + MIDDLE.latency_s
    alone = counted(CHEAP).select(Constraint(CHEAP.latency_s, None))
    assert alone.waves == (("cheap",),)


def test_more_members_than_are_tried_in_all_ways_can_be_chosen_from() -> None:
    many = [Member(f"m{n:02}", 0.01, 0.55 + 0.02 * n, packing_factor=15.0 - n) for n in range(MAX_SUBSETS_OF + 3)]
    members = MemberSelector(many, votes(*many, rows=200))
    chosen = members.select(Constraint(0.05, 0.8))
    assert chosen.accuracy >= 0.8 - ACCURACY_MARGIN
    assert set(chosen.members) <= {member.name for member in many}
    assert len(members.full(Constraint(0.05)).members) == len(many)
    least = many[0].name
    assert members.select(Constraint(0.05, 0.5), [least, many[1].name]).members in ((least,), (many[1].name,))


def test_the_accuracy_of_any_set_is_the_estimates() -> None:
    recorded = votes(*ALL)
    members = MemberSelector(ALL, recorded)
    joint = JointVotes(recorded)
    assert members.accuracy(["large", "cheap"]) == joint.accuracy(["cheap", "large"])
    assert MemberSelector(ALL).accuracy(["large", "cheap", "slow"]) == binomial_accuracy(3, 0.75)


def test_votes_must_have_all_members_and_there_must_be_one() -> None:
    with pytest.raises(KeyError, match="slow"):
        MemberSelector((CHEAP, SLOW), votes(CHEAP, MIDDLE))
    with pytest.raises(ValueError, match="an ensemble needs at least one member"):
        MemberSelector(())


def test_choices_do_not_depend_on_the_rows_order_beyond_folds() -> None:
    recorded = votes(*ALL, rows=2000)
    shuffled = recorded.take(np.random.default_rng(0).permutation(recorded.rows))
    one = MemberSelector(ALL, recorded).select(Constraint(0.2, 0.86))
    other = MemberSelector(ALL, shuffled).select(Constraint(0.2, 0.86))
    assert one.accuracy == pytest.approx(other.accuracy, abs=0.01)

"""Every way to ask, recomputed row by row with loops."""

from itertools import combinations
from math import inf

import numpy as np
import pytest

from catalog.votes import RecordedVotes
from dispatch.ensemble.cascades import MARGINS, MAX_SUBSETS_OF, Cascades, cascades
from dispatch.ensemble.estimate import FOLDS, JointVotes
from dispatch.ensemble.member import Member
from dispatch.ensemble.weights import ClassWeights
from vote_scene import confusion, drawn_votes, naive_vote

NEAR = 1e-4
"""Margins of single precision so close to where a wave stops may fall on either side of it."""

ROWS = 120


def recorded(members: int, rows: int = ROWS, seed: int = 0) -> RecordedVotes:
    """Members from 0.6 upwards, in four classes, each better in one of them."""
    by_class = {f"m{n}": [0.6 + 0.02 * n + 0.15 * (label == n % 4) for label in range(4)] for n in range(members)}
    return drawn_votes({name: confusion(each) for name, each in by_class.items()}, rows, seed, together=0.08)


def of(votes: RecordedVotes) -> list[Member]:
    return [
        Member(name, 0.010 + 0.003 * number, accuracy, packing_factor=1.0 + number % 3)
        for number, (name, accuracy) in enumerate(votes.accuracies.items())
    ]


def names(members: list[Member], mask: int) -> list[str]:
    return [member.name for bit, member in enumerate(members) if mask >> bit & 1]


class ByHand:
    """Votes of sets, row by row, with the weights that the other folds teach."""

    def __init__(self, votes: RecordedVotes) -> None:
        fold = np.arange(votes.rows) % FOLDS
        self._votes = votes
        self._weights = [ClassWeights.learned(votes.take(np.flatnonzero(fold != each))) for each in range(FOLDS)]

    def vote(self, row: int, chosen: list[str]) -> tuple[int, float]:
        said = self._votes.predictions[row].tolist()
        present = [said[m] if name in chosen else -1 for m, name in enumerate(self._votes.members)]
        weights = self._weights[row % FOLDS]
        return naive_vote(present, weights.rows, weights.against_rows)[:2]


def check(found: Cascades, index: int, members: list[Member], votes: RecordedVotes, by_hand: ByHand) -> None:
    first, second = names(members, int(found.first[index])), names(members, int(found.second[index]))
    everyone = [member.name for member in members]
    right = changed = escalated = unsure = 0
    for row in range(votes.rows):
        said, margin = by_hand.vote(row, first)
        if second and margin <= found.stop_margin[index]:
            escalated += 1
            said, _ = by_hand.vote(row, first + second)
        unsure += bool(second) and abs(margin - found.stop_margin[index]) < NEAR
        right += said == votes.labels[row]
        changed += said != by_hand.vote(row, everyone)[0]
    slack = unsure / votes.rows + 1e-9
    assert found.escalated[index] == pytest.approx(escalated / votes.rows, abs=slack)
    assert found.accuracy[index] == pytest.approx(right / votes.rows, abs=slack)
    assert found.changed[index] == pytest.approx(changed / votes.rows, abs=slack)
    one_by_name = {member.name: member for member in members}
    first_s = max(one_by_name[name].latency_s for name in first)
    second_s = max((one_by_name[name].latency_s for name in second), default=0.0)
    share = found.escalated[index]
    assert found.latency_s[index] == pytest.approx(first_s + second_s)
    assert found.mean_latency_s[index] == pytest.approx(first_s + share * second_s)
    cost = sum(one_by_name[name].cost for name in first) + share * sum(one_by_name[name].cost for name in second)
    assert found.cost[index] == pytest.approx(cost)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_ways_are_what_a_loop_over_rows_says(seed: int) -> None:
    votes = recorded(5, seed=seed)
    members, by_hand = of(votes), ByHand(votes)
    found = cascades(members, JointVotes(votes), 0.040)
    rng = np.random.default_rng(seed)
    two_waves = np.flatnonzero(found.second)
    assert len(two_waves) > 60
    for index in rng.choice(two_waves, 25, replace=False):
        check(found, int(index), members, votes, by_hand)
    for index in np.flatnonzero(found.second == 0):
        check(found, int(index), members, votes, by_hand)


def first_waves(of: int, ranked: list[int] | None = None) -> set[int]:
    """Sets of at most half of so many members, rounded up, of those that are ``ranked``; and all."""
    bits = list(range(of)) if ranked is None else ranked
    most = of // 2 + of % 2
    small = {sum(1 << bit for bit in chosen) for size in range(1, most + 1) for chosen in combinations(bits, size)}
    return small | {(1 << of) - 1}


def test_sets_of_at_most_half_the_members_are_tried_alone_and_with_all_others_that_fit_after_them() -> None:
    votes = recorded(4)
    members = of(votes)
    found = cascades(members, JointVotes(votes), 0.030)
    assert sorted(found.first[found.second == 0].tolist()) == sorted(first_waves(4))
    assert (found.latency_s <= 0.030 + 1e-12).all()
    for first, second in zip(found.first.tolist(), found.second.tolist(), strict=True):
        first_s = max(m.latency_s for m in members if m.name in names(members, first))
        fit = [m.name for m in members if m.name not in names(members, first) and first_s + m.latency_s <= 0.030]
        assert names(members, second) in ([], fit)
        assert not first & second


def test_ways_without_a_second_wave_never_stop_early() -> None:
    votes = recorded(3)
    found = cascades(of(votes), JointVotes(votes), 0.013)
    assert not found.second.any(), "no two members fit one after the other"
    assert (found.stop_margin == inf).all()
    assert (found.escalated == 0.0).all()


def test_the_vote_of_all_changes_nothing() -> None:
    votes = recorded(4)
    found = cascades(of(votes), JointVotes(votes), 1.0)
    assert found.changed[(found.first == 15) & (found.second == 0)].tolist() == [0.0]


def test_so_many_margins_are_tried_of_each_first_wave() -> None:
    votes = recorded(4, rows=600)
    found = cascades(of(votes), JointVotes(votes), 1.0)
    for first in first_waves(4) - {15}:
        own = found.stop_margin[(found.first == first) & (found.second > 0)]
        assert 1 <= len(own) <= MARGINS
        assert len(set(own.tolist())) == len(own)


@pytest.mark.parametrize("members", [1, 2, 3, 5])
def test_everyone_at_once_is_one_of_the_ways(members: int) -> None:
    votes = recorded(members, rows=60)
    found = cascades(of(votes), JointVotes(votes), 1.0)
    assert set(found.first.tolist()) == first_waves(members)
    everyone = (1 << members) - 1
    assert (found.first[found.everyone], found.second[found.everyone]) == (everyone, 0)
    assert (found.changed[found.everyone], found.rows) == (0.0, 60)


def test_of_more_members_sets_of_the_best_are_tried_and_all_of_them_at_once() -> None:
    votes = recorded(MAX_SUBSETS_OF + 2, rows=60)
    members = of(votes)
    found = cascades(members, JointVotes(votes), 0.05)
    firsts = set(found.first.tolist())
    ranked = sorted(members, key=lambda m: (-m.accuracy, m.cost))[:MAX_SUBSETS_OF]
    assert firsts == first_waves(len(members), [members.index(member) for member in ranked])


def test_members_need_not_be_in_the_order_of_the_votes() -> None:
    votes = recorded(4)
    joint = JointVotes(votes)
    members = of(votes)
    one, other = cascades(members, joint, 0.03), cascades(members[::-1], joint, 0.03)

    def summary(found: Cascades, order: list[Member]) -> dict[tuple[str, ...], float]:
        alone = found.second == 0
        pairs = zip(found.first[alone].tolist(), found.accuracy[alone].tolist(), strict=True)
        return {tuple(sorted(names(order, mask))): accuracy for mask, accuracy in pairs}

    assert summary(one, members) == pytest.approx(summary(other, members[::-1]))

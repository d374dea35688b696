"""The vote on one row as it comes in."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.ensemble.tally import MANY, Tally
from dispatch.ensemble.voting import NOBODY

WEIGHTS = [[1.0, 2.0, 3.0], [1.5, 2.5, 0.0], [0.0, 0.5, 4.0], [0.0, 0.0, 0.0]]


def tally(*said: tuple[int, int]) -> Tally:
    made = Tally(WEIGHTS)
    for member, label in said:
        made.add(member, label)
    return made


def test_before_the_first_vote_nobody_leads() -> None:
    empty = tally()
    assert (empty.leader, empty.margin, empty.confidence, empty.shares()) == (NOBODY, 0.0, 0.0, {})


def test_the_margin_is_the_lead_over_the_next_class_and_over_nothing_where_there_is_none() -> None:
    assert tally((0, 0)).margin == 1.0
    assert tally((0, 0), (1, 0)).margin == 3.0
    assert tally((0, 0), (1, 0), (2, 2)).margin == 1.0
    assert tally((0, 0), (1, 1), (2, 2)).margin == 1.5
    assert tally((0, 0), (1, 0), (2, 2)).leader == 2


def test_shares_are_how_likely_the_classes_are_that_were_named() -> None:
    shares = tally((0, 0), (1, 0), (2, 2)).shares()
    assert shares == pytest.approx({0: exp(3.0) / (exp(3.0) + exp(4.0)), 2: exp(4.0) / (exp(3.0) + exp(4.0))})
    assert shares[2] > tally((0, 0), (1, 0), (2, 2)).confidence, "nothing is left for classes that nobody named"


def test_shares_of_sums_that_no_float_holds_the_odds_of_are_finite() -> None:
    far = Tally([[900.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [-900.0, 0.0]])
    far.add(0, 0)
    far.add(1, 1)
    assert far.shares() == {0: 1.0, 1: 0.0}
    assert far.confidence == 1.0


def test_votes_that_weigh_nothing_share_alike() -> None:
    assert tally((0, 3)).shares() == {3: 1.0}
    assert tally((0, 2), (2, 3)).shares() == pytest.approx({2: 0.5, 3: 0.5}, rel=1e-5)
    assert tally((0, 2), (2, 3)).leader == 2, "the lower class"


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_the_confidence_is_the_share_of_the_leader_in_the_exponentials_of_all_sums(said: list[int]) -> None:
    counted = tally(*enumerate(said))
    sums = [0.0] * len(WEIGHTS)
    for member, label in enumerate(said):
        sums[label] += WEIGHTS[label][member]
    assert counted.confidence == pytest.approx(max(map(exp, sums)) / sum(map(exp, sums)))


def test_the_confidence_is_the_posterior_of_independent_members_that_err_evenly() -> None:
    accuracy, classes = np.array([0.6, 0.7, 0.9]), 4
    weights = np.tile(np.log(accuracy) - np.log((1.0 - accuracy) / (classes - 1)), (classes, 1))
    made = Tally(weights.tolist())
    said = (2, 0, 2)
    for member, label in enumerate(said):
        made.add(member, label)
    likelihood = [
        np.prod([accuracy[m] if label == said[m] else (1.0 - accuracy[m]) / (classes - 1) for m in range(3)])
        for label in range(classes)
    ]
    assert made.confidence == pytest.approx(likelihood[2] / sum(likelihood))


def test_with_what_classes_lose_shares_are_the_posterior_of_members_that_are_good_at_different_classes() -> None:
    """A member names a class with one probability where it is the true one, with another where it is not."""
    right = np.array([[0.9, 0.5], [0.6, 0.8], [0.7, 0.7]])
    wrongly = np.array([[0.05, 0.3], [0.2, 0.1], [0.1, 0.15]])
    made = Tally(np.log(right / wrongly).tolist(), np.log((1 - right) / (1 - wrongly)).tolist())
    said = (0, 1)
    for member, label in enumerate(said):
        made.add(member, label)
    odds = []
    for label in (0, 1, 2):
        each = [
            right[label, m] / wrongly[label, m] if said[m] == label else (1 - right[label, m]) / (1 - wrongly[label, m])
            for m in (0, 1)
        ]
        odds.append(np.prod(each))
    assert made.shares() == pytest.approx({label: each / sum(odds) for label, each in enumerate(odds)})
    assert made.leader == int(np.argmax(odds))


@pytest.mark.parametrize(("classes", "all_of_them"), [(MANY, True), (MANY + 1, False)])
def test_of_many_classes_those_that_nobody_named_have_no_share(classes: int, all_of_them: bool) -> None:
    made = Tally([[2.0]] * classes, [[-0.1]] * classes)
    made.add(0, 3)
    shares = made.shares()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares.keys() == (set(range(classes)) if all_of_them else {3})
    if all_of_them:
        assert shares[3] == pytest.approx(1.0 / (1.0 + (classes - 1) * exp(-2.1)))


def test_a_class_that_nobody_named_is_never_likelier_than_the_leader() -> None:
    made = Tally([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]], [[-3.0, -3.0], [-2.5, -2.5], [-0.1, -0.1]])
    made.add(0, 0)
    made.add(1, 1)
    shares = made.shares()
    assert made.leader == max(shares, key=lambda label: shares[label]) == 1
    assert shares[2] == pytest.approx(shares[1], rel=1e-5)
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("label", [-1, 4])
def test_a_class_that_there_is_not_is_refused(label: int) -> None:
    with pytest.raises(IndexError):
        tally((0, label))

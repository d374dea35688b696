"""How often votes are right: closed form, simulation, and what dependence does to both."""

import numpy as np
import pytest
from scipy import stats

from catalog.votes import RecordedVotes
from dispatch.ensemble.estimate import (
    FOLDS,
    MAX_ROWS,
    JointVotes,
    binomial_accuracy,
    independent_accuracy,
    mask_of,
)
from vote_scene import confusion, drawn_votes


def coins(members: int, accuracy: float, rows: int, seed: int = 0, together: float = 0.0) -> RecordedVotes:
    """Members of two classes, all as accurate: their vote is a majority of coin tosses."""
    names = {f"m{n}": confusion([accuracy, accuracy]) for n in range(members)}
    return drawn_votes(names, rows, seed, together)


@pytest.mark.parametrize("members", [1, 2, 3, 4, 7, 10])
@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.5, 0.78, 1.0])
def test_the_majority_of_independent_members_is_binomial(members: int, accuracy: float) -> None:
    assert binomial_accuracy(members, accuracy) == pytest.approx(stats.binom.sf(members // 2, members, accuracy))


def test_three_members_by_hand() -> None:
    assert binomial_accuracy(3, 0.8) == pytest.approx(0.8**3 + 3 * 0.8**2 * 0.2)


def test_the_binomial_estimate_is_what_draws_of_independent_members_give() -> None:
    right = np.random.default_rng(1).random((100_000, 5)) < 0.7
    assert (right.sum(axis=1) > 2).mean() == pytest.approx(binomial_accuracy(5, 0.7), abs=0.005)


def test_no_members_have_no_accuracy() -> None:
    with pytest.raises(ValueError, match="0 members; a vote needs at least 1"):
        binomial_accuracy(0, 0.9)


def test_the_paper_takes_all_members_to_be_as_bad_as_the_worst() -> None:
    accuracies = {"a": 0.9, "b": 0.8, "c": 0.7, "unused": 0.1}
    assert independent_accuracy(accuracies, ["a", "b", "c"]) == binomial_accuracy(3, 0.7)


def test_on_independent_draws_the_count_is_close_to_the_truth() -> None:
    joint = JointVotes(coins(5, 0.8, MAX_ROWS, seed=2))
    error = 3.0 * np.sqrt(0.06 / MAX_ROWS)
    assert joint.accuracy(joint.members) == pytest.approx(binomial_accuracy(5, 0.8), abs=error)
    assert joint.accuracy(["m1"]) == pytest.approx(0.8, abs=3.0 * np.sqrt(0.16 / MAX_ROWS))


def test_members_that_err_together_are_right_less_often_than_independent_ones() -> None:
    votes = coins(5, 0.9, MAX_ROWS, seed=2, together=0.12)
    joint = JointVotes(votes)
    own = min(votes.accuracies.values())
    assert joint.accuracy(joint.members) == pytest.approx(0.88 * binomial_accuracy(5, 0.9), abs=0.025)
    assert joint.accuracy(joint.members) < independent_accuracy(votes.accuracies, votes.members) - 0.04
    assert joint.accuracy(joint.members) > own


def test_of_many_rows_some_are_drawn_and_always_the_same() -> None:
    votes = coins(3, 0.8, 3 * MAX_ROWS)
    one, other = JointVotes(votes), JointVotes(votes)
    assert len(one.labels) == MAX_ROWS
    assert np.array_equal(one.labels, other.labels)
    assert one.accuracy(one.members) == other.accuracy(one.members)


@pytest.mark.parametrize("rows", [1, 2, FOLDS, FOLDS + 1])
def test_few_rows_are_enough_to_count(rows: int) -> None:
    joint = JointVotes(coins(3, 0.99, rows, seed=6))
    assert 0.0 <= joint.accuracy(joint.members) <= 1.0


def test_a_member_that_only_remembers_its_own_rows_is_not_believed() -> None:
    """Weights of a row come from other rows: a class that was seen once brings no weight to that very row."""
    labels = np.arange(40)
    votes = RecordedVotes(("m",), labels, labels[:, None].copy(), 40)
    _, margins = JointVotes(votes).outcome(1)
    assert np.allclose(margins, margins[0]), "rows are alike: none has taught its own weight"


def test_sets_are_masks_over_the_members() -> None:
    assert mask_of(["a", "b", "c"], ["c", "a"]) == 0b101
    with pytest.raises(ValueError):
        mask_of(["a"], ["z"])
    with pytest.raises(ValueError):
        JointVotes(coins(2, 0.9, 10)).accuracy(["m7"])

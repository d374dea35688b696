"""Weights that are learned from labelled votes of which the truth is known."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dispatch.ensemble.tally import Tally
from dispatch.ensemble.voting import ABSENT, vote
from dispatch.ensemble.weights import PRIOR_ROWS, ClassWeights, VoteCounts
from dispatch.flow.ensemble import CLEAR
from vote_scene import confusion, drawn_votes

ACCURACIES = {"sharp": (0.95, 0.9, 0.85, 0.8), "dull": (0.3, 0.5, 0.7, 0.9)}


def test_the_accuracy_by_class_converges_to_the_one_that_votes_are_drawn_with() -> None:
    votes = drawn_votes({name: confusion(each) for name, each in ACCURACIES.items()}, 40_000, seed=3)
    learned = ClassWeights.learned(votes)
    assert learned.members == ("sharp", "dull")
    for column, each in enumerate(ACCURACIES.values()):
        assert learned.accuracy[:, column] == pytest.approx(each, abs=0.015)


def test_a_weight_converges_to_the_logarithm_of_how_much_likelier_the_class_is_named_where_it_is_true() -> None:
    matrix = confusion(ACCURACIES["dull"])
    learned = ClassWeights.learned(drawn_votes({"dull": matrix}, 100_000, seed=4)).matrix[:, 0]
    for label in range(4):
        elsewhere = np.delete(matrix[:, label], label).mean()
        assert learned[label] == pytest.approx(max(0.0, np.log(matrix[label, label] / elsewhere)), abs=0.06)


def test_what_a_class_loses_converges_to_the_logarithm_of_how_much_less_likely_others_are_named() -> None:
    matrix = confusion(ACCURACIES["dull"])
    learned = ClassWeights.learned(drawn_votes({"dull": matrix}, 100_000, seed=4)).against[:, 0]
    for label in range(4):
        elsewhere = np.delete(matrix[:, label], label).mean()
        assert learned[label] == pytest.approx(np.log((1 - matrix[label, label]) / (1 - elsewhere)), abs=0.06)


def test_the_error_falls_with_the_rows() -> None:
    def error(rows: int) -> float:
        votes = drawn_votes({"m": confusion(ACCURACIES["dull"])}, rows, seed=5)
        return float(np.abs(ClassWeights.learned(votes).accuracy[:, 0] - ACCURACIES["dull"]).max())

    assert error(40_000) < error(1000) / 2


def test_a_class_that_was_never_seen_has_the_members_own_accuracy() -> None:
    counts = VoteCounts.of(np.array([0, 0]), np.array([[0], [1]]), 3)
    weights = ClassWeights({"m": 0.7}, 3, counts)
    assert weights.accuracy[2, 0] == pytest.approx(0.7)
    hard = (1 + PRIOR_ROWS * 0.7) / (2 + PRIOR_ROWS)
    assert weights.accuracy[0, 0] == pytest.approx((1 + PRIOR_ROWS * hard) / (2 + PRIOR_ROWS))


def test_a_class_that_is_hard_for_others_is_expected_to_be_hard_for_a_member_that_has_not_seen_it() -> None:
    """Its own accuracy, its odds shifted as those of all members together are."""
    labels, said = np.repeat([0, 1], 30), np.array([[0, ABSENT]] * 30 + [[1, ABSENT]] * 3 + [[0, ABSENT]] * 27)
    weights = ClassWeights({"seen": 0.6, "new": 0.8}, 3, VoteCounts.of(labels, said, 3))
    for label, right in ((0, 30), (1, 3), (2, None)):
        share = 0.7 if right is None else (right + PRIOR_ROWS * 0.7) / (30 + PRIOR_ROWS)
        odds = (0.8 / 0.2) * (share / (1 - share)) / (0.7 / 0.3)
        assert weights.accuracy[label, 1] == pytest.approx(odds / (1 + odds))
    assert weights.accuracy[0, 1] > 0.8 > weights.accuracy[1, 1]
    assert weights.accuracy[2].tolist() == pytest.approx([0.6, 0.8]), "of a class that nobody has seen"
    assert weights.matrix[0, 1] < weights.matrix[2, 1], "others take other classes for it"
    assert weights.against[1, 1] > weights.against[2, 1], "that a hard class is not named says less"


def test_before_anything_is_seen_a_weight_comes_from_the_accuracy_alone() -> None:
    weights = ClassWeights({"good": 0.9, "guessing": 0.25, "worse": 0.1}, 4)
    assert weights.matrix[:, 0] == pytest.approx(np.log(0.9 / (0.1 / 3)))
    assert weights.matrix[:, 1] == pytest.approx(0.0, abs=1e-12)
    assert weights.matrix[:, 2] == pytest.approx(0.0)
    assert weights.against[:, 0] == pytest.approx(np.log(0.1 / (1 - 0.1 / 3)))
    assert weights.against[:, 1:] == pytest.approx(0.0, abs=1e-12), "they say nothing against a class either"


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_members_that_are_always_or_never_right_have_finite_weights(accuracy: float) -> None:
    weights = ClassWeights({"m": accuracy}, 5)
    assert np.isfinite(weights.matrix).all()
    assert np.isfinite(weights.against).all()


def test_absent_members_are_not_counted() -> None:
    labels = np.array([0, 1, 1])
    counts = VoteCounts.of(labels, np.array([[0, ABSENT], [ABSENT, 0], [1, 1]]), 2)
    assert counts.seen.tolist() == [[1, 0], [1, 2]]
    assert counts.right.tolist() == [[1, 0], [1, 1]]
    assert counts.said.tolist() == [[1, 1], [1, 1]]


def test_counts_of_several_routers_add_up_to_those_of_all_rows() -> None:
    votes = drawn_votes({name: confusion(each) for name, each in ACCURACIES.items()}, 300)
    whole = VoteCounts.of(votes.labels, votes.predictions, 4)
    parts = [VoteCounts.of(votes.labels[i::3], votes.predictions[i::3], 4) for i in range(3)]
    added = parts[0] + parts[1] + parts[2]
    for name in ("seen", "right", "said"):
        assert np.array_equal(getattr(added, name), getattr(whole, name))
    weights = ClassWeights(votes.accuracies, 4)
    weights.put(added)
    assert np.array_equal(weights.matrix, ClassWeights.learned(votes).matrix)
    assert weights.counts is added


def test_what_open_votes_hold_stays_as_it_is_when_counts_are_put() -> None:
    weights = ClassWeights({"a": 0.6, "b": 0.9}, 3)
    rows, against, largest = weights.rows, weights.against_rows, weights.largest
    before = [list(row) for row in rows], [list(row) for row in against], list(largest)
    weights.put(VoteCounts(np.full((3, 2), 50.0), np.full((3, 2), 20.0), np.full((3, 2), 50.0)))
    assert (rows, against, largest) == before
    assert weights.rows != rows
    assert weights.against_rows != against
    gained, lost = np.array(weights.rows), np.array(weights.against_rows)
    assert (gained == weights.matrix).all()
    assert (lost == weights.against).all()
    assert weights.largest == pytest.approx([max(gained[:, m]) + max(-lost[:, m]) for m in (0, 1)])


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(ABSENT, 2)), st.data()
)
def test_weights_are_finite_and_a_vote_never_speaks_against_its_class(
    predictions: np.ndarray, data: st.DataObject
) -> None:
    labels = data.draw(hnp.arrays(np.int64, len(predictions), elements=st.integers(0, 2)))
    accuracies = {f"m{n}": data.draw(st.floats(0.0, 1.0)) for n in range(predictions.shape[1])}
    weights = ClassWeights(accuracies, 3, VoteCounts.of(labels, predictions, 3))
    assert np.isfinite(weights.matrix).all()
    assert np.isfinite(weights.against).all()
    assert (weights.matrix >= 0.0).all()
    assert (weights.against <= 0.0).all()
    assert ((weights.accuracy > 0.0) & (weights.accuracy < 1.0)).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_lead_beyond_what_the_others_may_change_stays_whatever_they_say(seed: int) -> None:
    """All ways to vote of four members among three classes, and all that those may say who have not voted."""
    rng = np.random.default_rng(seed)
    members, classes, decided = 4, 3, 0
    for _ in range(20):
        rows = int(rng.integers(1, 60))
        made = {f"m{n}": confusion(rng.uniform(0.2, 0.98, classes).tolist()) for n in range(members)}
        weights = ClassWeights.learned(drawn_votes(made, rows, int(rng.integers(1 << 30))))
        for voted in range(1, members):
            to_come = sum(weights.largest[voted:])
            others = np.array(list(product((ABSENT, *range(classes)), repeat=members - voted)))
            for said in product(range(classes), repeat=voted):
                tally = Tally(weights.rows, weights.against_rows)
                for member, label in enumerate(said):
                    tally.add(member, label)
                if tally.margin - to_come <= CLEAR:
                    continue
                decided += 1
                all_say = np.concatenate((np.tile(said, (len(others), 1)), others), axis=1)
                assert (vote(all_say, weights.matrix, weights.against).classes == tally.leader).all()
    assert decided > 30, "there was something to check"


def test_one_class_is_nothing_to_vote_on() -> None:
    with pytest.raises(ValueError, match="1 classes; a vote needs at least 2"):
        ClassWeights({"m": 0.5}, 1)


def test_columns_are_found_by_name() -> None:
    weights = ClassWeights({"a": 0.6, "b": 0.9}, 3)
    assert weights.column("b") == 1
    with pytest.raises(ValueError):
        weights.column("c")

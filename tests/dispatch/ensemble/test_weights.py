"""Weights that are learned from labelled votes of which the truth is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dispatch.ensemble.voting import ABSENT
from dispatch.ensemble.weights import PRIOR_ROWS, ClassWeights, VoteCounts
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


def test_the_error_falls_with_the_rows() -> None:
    def error(rows: int) -> float:
        votes = drawn_votes({"m": confusion(ACCURACIES["dull"])}, rows, seed=5)
        return float(np.abs(ClassWeights.learned(votes).accuracy[:, 0] - ACCURACIES["dull"]).max())

    assert error(40_000) < error(1000) / 2


def test_a_class_that_was_never_seen_has_the_members_own_accuracy() -> None:
    counts = VoteCounts.of(np.array([0, 0]), np.array([[0], [1]]), 3)
    weights = ClassWeights({"m": 0.7}, 3, counts)
    assert weights.accuracy[2, 0] == pytest.approx(0.7)
    assert weights.accuracy[0, 0] == pytest.approx((1 + PRIOR_ROWS * 0.7) / (2 + PRIOR_ROWS))


def test_before_anything_is_seen_a_weight_comes_from_the_accuracy_alone() -> None:
    weights = ClassWeights({"good": 0.9, "guessing": 0.25, "worse": 0.1}, 4)
    assert weights.matrix[:, 0] == pytest.approx(np.log(0.9 / (0.1 / 3)))
    assert weights.matrix[:, 1] == pytest.approx(0.0, abs=1e-12)
    assert weights.matrix[:, 2] == pytest.approx(0.0)


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_members_that_are_always_or_never_right_have_finite_weights(accuracy: float) -> None:
    assert np.isfinite(ClassWeights({"m": accuracy}, 5).matrix).all()


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
    rows, largest = weights.rows, weights.largest
    before = [list(row) for row in rows], list(largest)
    weights.put(VoteCounts(np.full((3, 2), 50.0), np.full((3, 2), 5.0), np.full((3, 2), 50.0)))
    assert (rows, largest) == before
    assert weights.rows != rows
    assert weights.largest == np.array(weights.rows).max(axis=0).tolist()


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(ABSENT, 2)), st.data()
)
def test_weights_are_finite_and_never_negative(predictions: np.ndarray, data: st.DataObject) -> None:
    labels = data.draw(hnp.arrays(np.int64, len(predictions), elements=st.integers(0, 2)))
    accuracies = {f"m{n}": data.draw(st.floats(0.0, 1.0)) for n in range(predictions.shape[1])}
    weights = ClassWeights(accuracies, 3, VoteCounts.of(labels, predictions, 3))
    assert np.isfinite(weights.matrix).all()
    assert (weights.matrix >= 0.0).all()
    assert ((weights.accuracy > 0.0) & (weights.accuracy < 1.0)).all()


def test_one_class_is_nothing_to_vote_on() -> None:
    with pytest.raises(ValueError, match="1 classes; a vote needs at least 2"):
        ClassWeights({"m": 0.5}, 1)


def test_columns_are_found_by_name() -> None:
    weights = ClassWeights({"a": 0.6, "b": 0.9}, 3)
    assert weights.column("b") == 1
    with pytest.raises(ValueError):
        weights.column("c")

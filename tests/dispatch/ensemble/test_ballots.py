"""From tensors to votes and back."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.tally import Tally

WEIGHTS = [[1.0, 1.0], [2.0, 3.0], [1.0, 1.0]]


def tally(*said: int) -> Tally:
    made = Tally(WEIGHTS)
    for member, label in enumerate(said):
        made.add(member, label)
    return made


def test_labels_are_read_as_they_are_and_scores_by_the_highest() -> None:
    assert Ballots(3).read({"label": np.array([2, 0])}, 2) == [2, 0]
    assert Ballots(3, label=None, scores="p").read({"p": np.array([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])}, 2) == [1, 0]
    both = Ballots(3, scores="p")
    assert both.read({"label": np.array([2], np.int32), "p": np.array([[1.0, 0.0, 0.0]])}, 1) == [2]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"label": np.array([0, 3])}, "class 3; a vote among 3 needs one from 0 to 2"),
        ({"label": np.array([0, -1])}, "class -1; a vote among 3"),
        ({"label": np.array([0])}, r"output 'label' gives int64 \[1\]; a vote needs a class per row"),
        ({"label": np.array([[0], [1]])}, r"gives int64 \[2, 1\]"),
        ({"label": np.array([0.0, 1.0])}, r"gives float64 \[2\]"),
        ({"other": np.array([0, 1])}, "no output 'label'; there are other"),
        ({}, "no output 'label'; there are none"),
    ],
)
def test_what_is_no_class_per_row_is_refused(outputs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ballots(3).read(outputs, 2)


@pytest.mark.parametrize(
    "scores", [np.float32(0.5), np.zeros((2, 5, 3)), np.zeros((1, 3)), np.eye(2, 4)[[1, 1]][:, ::-1]]
)
def test_scores_of_another_shape_are_refused_or_read_by_class(scores: Any) -> None:
    ballots = Ballots(2, label=None, scores="p")
    with pytest.raises(ValueError):
        ballots.read({"p": scores}, 2)


def test_an_answer_has_the_label_and_how_likely_classes_are_by_the_vote() -> None:
    answer = Ballots(3, scores="p").write([tally(1, 1), tally(0, 1)])
    assert answer["label"].tolist() == [1, 1]
    assert answer["label"].dtype == np.int64
    assert answer["p"].dtype == np.float32
    behind = 1.0 / (1.0 + np.exp(3.0 - 1.0))
    assert answer["p"][0].tolist() == [0.0, 1.0, 0.0]
    assert answer["p"][1].tolist() == pytest.approx([behind, 1.0 - behind, 0.0])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_the_label_has_the_highest_score(said: list[int], seed: int) -> None:
    """Also where sums are equal, and where a class that nobody named loses less than those that were."""
    rng = np.random.default_rng(seed)
    made = Tally((rng.integers(0, 3, (5, 3)) / 2).tolist(), (-rng.integers(0, 3, (5, 3)) / 2).tolist())
    for member, label in enumerate(said):
        made.add(member, label)
    answer = Ballots(5, scores="p").write([made])
    assert answer["p"].argmax(axis=1).tolist() == answer["label"].tolist()
    assert answer["p"].sum() == pytest.approx(1.0)


def test_an_answer_has_what_members_have() -> None:
    assert list(Ballots(3).write([tally(0)])) == ["label"]
    assert list(Ballots(3, label=None, scores="p").write([tally(0)])) == ["p"]


def test_one_of_both_must_be_named() -> None:
    with pytest.raises(ValueError, match="label or with the scores"):
        Ballots(3, label=None)


def test_scores_that_are_no_numbers_are_no_vote() -> None:
    with pytest.raises(ValueError, match=r"output 'p' has scores that are no numbers"):
        Ballots(2, label=None, scores="p").read({"p": np.array([[0.1, 0.9], [np.nan, 0.5]])}, 2)

"""Labels that come after the answer: what becomes of each, and what is counted of members."""

import gc
from collections.abc import Sequence

import numpy as np
import pytest

from dispatch.ensemble import ground_truth
from dispatch.ensemble.ground_truth import WINDOW_S, Answered, GroundTruth, Told
from dispatch.ensemble.member import Constraint

CONSTRAINT = Constraint(0.05, 0.9)


def answered(at_s: float, *winners: int, **votes: Sequence[int]) -> Answered:
    said = {member: tuple(own) for member, own in votes.items()}
    return Answered(at_s, winners, said or {"a": winners}, CONSTRAINT)


def known() -> GroundTruth:
    return GroundTruth(("a", "b", "c"), 3)


def test_a_label_is_matched_once_and_the_same_again_changes_nothing() -> None:
    truth = known()
    sent = answered(1.0, 2, a=[2], c=[1])
    truth.remember("x", sent)
    assert truth.tell("x", [1], 2.0) == (Told.MATCHED, sent)
    counts = truth.counts
    for label in (1, 2):
        assert truth.tell("x", [label], 3.0) == (Told.DUPLICATE, None)
    assert truth.counts is counts
    assert (truth.labelled, truth.right) == (1, 0)
    assert truth.counts.seen.tolist() == [[0, 0, 0], [1, 0, 1], [0, 0, 0]], "b did not vote"
    assert truth.counts.right.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert truth.counts.said.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_each_row_of_an_answer_has_its_label() -> None:
    truth = known()
    truth.remember("x", answered(1.0, 0, 1, 2, a=[0, 1, 1], b=[0, 0, 2]))
    assert truth.tell("x", [0, 1, 1], 1.0)[0] is Told.MATCHED
    assert (truth.labelled, truth.right) == (3, 2)
    assert truth.counts.right.sum(axis=0).tolist() == [3, 1, 0]


def test_an_id_that_never_was_is_unknown_and_one_that_was_long_ago_is_expired() -> None:
    truth = known()
    truth.remember("old", answered(0.0, 1))
    truth.remember("young", answered(10.0, 1))
    assert truth.tell("never", [1], 10.0) == (Told.UNKNOWN, None)
    assert truth.tell("old", [1], WINDOW_S)[0] is Told.MATCHED, "to the very end"
    assert truth.tell("old", [1], WINDOW_S + 1.0) == (Told.EXPIRED, None), "that it was labelled is forgotten too"
    assert truth.tell("young", [1], WINDOW_S + 1.0)[0] is Told.MATCHED


def test_an_answer_that_expired_is_forgotten_when_the_next_one_goes_out() -> None:
    truth = known()
    truth.remember("old", answered(0.0, 1))
    truth.remember("new", answered(WINDOW_S + 0.1, 1))
    assert truth.tell("old", [1], 0.1) == (Told.EXPIRED, None)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1], "1 labels for 2 rows; give one label per row"),
        ([1, 1, 1], "3 labels for 2 rows"),
        ([], "0 labels for 2 rows"),
        ([1, 3], r"labels \[1, 3\] among 3 classes; they are numbered from 0"),
        ([-1, 1], r"labels \[-1, 1\] among 3 classes"),
    ],
)
def test_labels_that_cannot_be_are_refused_and_the_right_ones_may_still_come(labels: list[int], message: str) -> None:
    truth = known()
    truth.remember("x", answered(1.0, 1, 2))
    for refusing in (lambda: truth.check("x", labels), lambda: truth.tell("x", labels, 2.0)):
        with pytest.raises(ValueError, match=message):
            refusing()
    assert truth.labelled == 0
    assert truth.tell("x", [1, 2], 2.0)[0] is Told.MATCHED


def test_a_class_that_there_is_not_is_refused_whatever_the_id() -> None:
    with pytest.raises(ValueError, match="among 3 classes"):
        known().tell("never", [7], 0.0)
    known().check("never", [1, 2, 0])  # how many rows it would have had is not known


def test_of_two_answers_with_one_id_the_later_counts() -> None:
    truth = known()
    truth.remember("x", answered(1.0, 1))
    assert truth.tell("x", [1], 1.0)[0] is Told.MATCHED
    truth.remember("x", answered(2.0, 2, 2))
    assert truth.tell("x", [2, 2], 2.0)[0] is Told.MATCHED
    assert truth.labelled == 3
    truth.remember("y", answered(3.0, 0))
    assert truth.tell("x", [2, 2], WINDOW_S + 1.5)[0] is Told.DUPLICATE, "it is as old as the later one"


def test_memory_is_bounded_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground_truth, "REMEMBERED", 3)
    truth = known()
    for number in range(8):
        truth.remember(str(number), answered(float(number), 1))
    assert len(truth._answers) == len(truth._expired) == 3
    told = [truth.tell(str(number), [1], 8.0)[0] for number in range(8)]
    assert told == [Told.UNKNOWN] * 2 + [Told.EXPIRED] * 3 + [Told.MATCHED] * 3
    assert len(truth._answers) == 3


def test_agreement_needs_no_label_and_counts_rows() -> None:
    truth = known()
    truth.remember("x", answered(1.0, 0, 1, 2, a=[0, 1, 1], b=[0, 0, 0]))
    truth.remember("y", answered(1.0, 2, b=[2]))
    agreement = {member: (seen.rows, seen.agreed) for member, seen in truth.agreement.items()}
    assert agreement == {"a": (3, 2), "b": (4, 2), "c": (0, 0)}
    assert truth.labelled == 0


def test_a_member_that_is_added_is_counted_from_then_on_and_the_others_as_before() -> None:
    truth = known()
    truth.remember("x", answered(1.0, 2, a=[2]))
    truth.tell("x", [2], 1.0)
    for _ in range(2):
        truth.add("d")
    truth.add("a")
    assert truth.members == ("a", "b", "c", "d")
    truth.remember("y", answered(2.0, 1, d=[1]))
    truth.tell("y", [0], 2.0)
    assert truth.counts.seen.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert truth.counts.right.tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert truth.counts.said.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    assert (truth.agreement["a"].rows, truth.agreement["d"].rows, truth.agreement["d"].agreed) == (1, 1, 1)


def test_counts_are_those_of_all_labelled_rows_by_a_loop() -> None:
    rng = np.random.default_rng(5)
    truth, classes = known(), 3
    seen, right, said = (np.zeros((classes, 3)) for _ in range(3))
    for number in range(200):
        votes = {m: rng.integers(0, classes, 2).tolist() for m in ("a", "b", "c") if rng.random() < 0.7}
        labels = rng.integers(0, classes, 2).tolist()
        truth.remember(str(number), answered(0.0, 1, 1, **votes) if votes else Answered(0.0, [1, 1], {}, None))
        assert truth.tell(str(number), labels, 0.0)[0] is Told.MATCHED
        for member, own in votes.items():
            for vote, label in zip(own, labels, strict=True):
                seen[label, "abc".index(member)] += 1
                right[label, "abc".index(member)] += vote == label
                said[vote, "abc".index(member)] += 1
    assert (truth.counts.seen == seen).all()
    assert (truth.counts.right == right).all()
    assert (truth.counts.said == said).all()
    assert truth.labelled == 400


def test_answers_that_are_kept_are_nothing_for_the_garbage_collector() -> None:
    truth = known()
    gc.collect()
    before = len(gc.get_objects())
    for number in range(2000):
        truth.remember(str(number), answered(1.0, 2, a=[2], c=[1]))
    gc.collect()
    assert len(gc.get_objects()) - before < 200

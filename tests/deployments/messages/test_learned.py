"""What labels said of members, as routers and the controller tell it each other."""

import numpy as np

from deployments.messages.learned import LearnedVotes
from dispatch.ensemble.weights import VoteCounts


def counts(members: int, classes: int, first: float) -> VoteCounts:
    size = classes * members
    return VoteCounts(
        *(first + np.arange(n * size, (n + 1) * size, dtype=float).reshape(classes, -1) for n in range(3))
    )


def same(one: VoteCounts, other: VoteCounts) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("seen", "right", "said"))


def test_counts_come_back_as_they_were_whatever_the_order_of_members() -> None:
    given = counts(3, 4, 0.0)
    learned = LearnedVotes.of(("a", "b", "c"), given)
    assert same(learned.counts(("a", "b", "c"), 4), given)
    turned = learned.counts(("c", "a"), 4)
    assert np.array_equal(turned.seen, given.seen[:, [2, 0]])
    assert np.array_equal(turned.said, given.said[:, [2, 0]])


def test_nothing_is_known_of_a_stranger_or_where_classes_are_others() -> None:
    learned = LearnedVotes.of(("a",), counts(1, 4, 1.0))
    assert same(learned.counts(("a", "z"), 5), VoteCounts.none(5, 2))
    found = learned.counts(("z", "a"), 4)
    assert found.seen[:, 0].tolist() == [0, 0, 0, 0]
    assert found.seen[:, 1].tolist() == [1, 2, 3, 4]


def test_two_are_added_member_by_member() -> None:
    one, other = LearnedVotes.of(("a", "b"), counts(2, 3, 0.0)), LearnedVotes.of(("b", "c"), counts(2, 3, 100.0))
    added = one + other
    assert set(added.by_member) == {"a", "b", "c"}
    assert np.array_equal(added.by_member["b"], one.by_member["b"] + other.by_member["b"])
    assert np.array_equal(added.by_member["a"], one.by_member["a"])
    assert set(one.by_member) == {"a", "b"}, "the parts stay as they were"
    total = sum(each.sum() for each in added.by_member.values())
    parts = sum(each.sum() for part in (one, other) for each in part.by_member.values())
    assert total == parts


def test_counts_of_another_number_of_classes_are_not_added() -> None:
    one, other = LearnedVotes.of(("a",), counts(1, 3, 0.0)), LearnedVotes.of(("a",), counts(1, 4, 0.0))
    assert (one + other).by_member["a"].shape == (3, 3)
    assert (other + one).by_member["a"].shape == (3, 4)

"""A vote of many rows at once, against a loop over rows and members."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.ensemble.tally import Tally
from dispatch.ensemble.voting import ABSENT, NOBODY, vote
from vote_scene import naive_sums, naive_vote

Matrix = list[list[float]]


@st.composite
def votes(draw: st.DrawFn) -> tuple[list[list[int]], Matrix, Matrix | None]:
    """Rows of what members say, some absent; weights and what classes lose, many of them equal and some 0."""
    members, classes = draw(st.integers(1, 6)), draw(st.integers(2, 8))
    row = st.lists(st.integers(ABSENT, classes - 1), min_size=members, max_size=members)

    def matrix(tenths: st.SearchStrategy[int]) -> st.SearchStrategy[Matrix]:
        each_class = st.lists(tenths.map(lambda number: number / 10), min_size=members, max_size=members)
        return st.lists(each_class, min_size=classes, max_size=classes)

    weights, against = draw(matrix(st.integers(0, 6))), draw(st.none() | matrix(st.integers(-4, 0)))
    return draw(st.lists(row, min_size=1, max_size=12)), weights, against


def array(matrix: Matrix | None) -> np.ndarray | None:
    return None if matrix is None else np.array(matrix)


@settings(max_examples=400)
@given(votes())
def test_many_rows_at_once_give_what_a_loop_gives(case: tuple[list[list[int]], Matrix, Matrix | None]) -> None:
    rows, weights, against = case
    found = vote(np.array(rows), np.array(weights), array(against))
    for index, said in enumerate(rows):
        winner, margin, tied = naive_vote(said, weights, against)
        assert found.classes[index] == winner
        assert found.margins[index] == pytest.approx(margin, abs=1e-9)
        assert found.tied[index] == tied


@settings(max_examples=400)
@given(votes(), st.randoms(use_true_random=False))
def test_votes_one_by_one_come_to_the_same_in_any_order(case, random) -> None:  # type: ignore[no-untyped-def]
    rows, weights, against = case
    found = vote(np.array(rows), np.array(weights), array(against))
    for index, said in enumerate(rows):
        order = [member for member, label in enumerate(said) if label != ABSENT]
        random.shuffle(order)
        tally = Tally(weights, against)
        for member in order:
            tally.add(member, said[member])
        assert tally.leader == found.classes[index]
        assert tally.margin == pytest.approx(found.margins[index], abs=1e-9)
        sums = naive_sums(said, weights, against)
        if against is not None:  # classes that nobody named may be nearly as likely as the leader
            lost = [sum([row[m] for m, label in enumerate(said) if label != ABSENT]) for row in against]
            sums = dict(enumerate(lost)) | sums
        most = sums.get(tally.leader, np.inf)
        odds = {label: np.exp(min(total, most)) for label, total in sums.items()}
        likely = {label: each / sum(odds.values()) for label, each in odds.items()}
        assert tally.shares() == pytest.approx(likely, rel=1e-5)


def test_where_all_are_absent_nobody_wins() -> None:
    found = vote(np.full((2, 3), ABSENT), np.ones((4, 3)))
    assert found.classes.tolist() == [NOBODY, NOBODY]
    assert found.margins.tolist() == [0.0, 0.0]
    assert found.tied.tolist() == [False, False]


def test_no_rows_and_no_members_are_votes_too() -> None:
    assert vote(np.empty((0, 3), np.int64), np.ones((4, 3))).classes.shape == (0,)
    assert vote(np.empty((2, 0), np.int64), np.ones((4, 0))).classes.tolist() == [NOBODY, NOBODY]


def test_fewer_votes_win_where_they_weigh_more() -> None:
    weights = np.array([[0.2, 0.2, 0.2], [0.1, 0.1, 0.5]])
    found = vote(np.array([[0, 0, 1]]), weights)
    assert found.classes.tolist() == [1]
    assert found.margins.tolist() == pytest.approx([0.1])
    assert not found.tied[0]


def test_who_votes_otherwise_takes_from_a_class() -> None:
    weights = np.array([[0.5, 0.5, 0.5], [0.4, 0.4, 0.4], [0.4, 0.4, 0.4]])
    against = np.array([[0.0, -0.2, -0.3], [0.0, 0.0, 0.0], [-0.1, 0.0, 0.0]])
    said = np.array([[0, 1, 2], [0, ABSENT, 2], [0, 0, ABSENT]])
    assert vote(said, weights).classes.tolist() == [0, 0, 0]
    found = vote(said, weights, against)
    assert found.classes.tolist() == [1, 2, 0], "0.5 - 0.2 - 0.3 is less than 0.4; nobody loses by who is absent"
    assert found.margins.tolist() == pytest.approx([0.4 - 0.3, 0.3 - 0.2, 1.0])


def test_a_lead_is_never_less_than_nothing() -> None:
    """Both classes lose more than they gain, and are behind the one that nobody named."""
    found = vote(np.array([[0, 1]]), np.full((3, 2), 0.1), np.full((3, 2), -0.5))
    assert (found.classes.tolist(), found.margins.tolist()) == ([0], [0.0])


def test_of_equal_sums_the_largest_single_weight_wins_and_then_the_lowest_class() -> None:
    weights = np.array([[0.3, 0.1, 0.1], [0.1, 0.2, 0.1], [0.1, 0.1, 0.3]])
    assert vote(np.array([[1, 1, 2]]), weights).classes.tolist() == [2], "0.1 + 0.2 is 0.3 but for rounding"
    assert vote(np.array([[0, ABSENT, 2]]), weights).classes.tolist() == [0]
    assert vote(np.array([[0, ABSENT, 2]]), weights).tied.tolist() == [True]

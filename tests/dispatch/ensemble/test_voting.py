"""A vote of many rows at once, against a loop over rows and members."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.ensemble.tally import Tally
from dispatch.ensemble.voting import ABSENT, NOBODY, vote
from vote_scene import naive_vote


@st.composite
def votes(draw: st.DrawFn) -> tuple[list[list[int]], list[list[float]]]:
    """Rows of what members say, some absent, and weights of which many are equal and some are 0."""
    members, classes = draw(st.integers(1, 6)), draw(st.integers(2, 8))
    row = st.lists(st.integers(ABSENT, classes - 1), min_size=members, max_size=members)
    weight = st.integers(0, 6).map(lambda tenths: tenths / 10)
    column = st.lists(weight, min_size=members, max_size=members)
    weights = draw(st.lists(column, min_size=classes, max_size=classes))
    return draw(st.lists(row, min_size=1, max_size=12)), weights


@settings(max_examples=400)
@given(votes())
def test_many_rows_at_once_give_what_a_loop_gives(case: tuple[list[list[int]], list[list[float]]]) -> None:
    rows, weights = case
    found = vote(np.array(rows), np.array(weights))
    for index, said in enumerate(rows):
        winner, margin, tied = naive_vote(said, weights)
        assert found.classes[index] == winner
        assert found.margins[index] == pytest.approx(margin, abs=1e-9)
        assert found.tied[index] == tied


@settings(max_examples=400)
@given(votes(), st.randoms(use_true_random=False))
def test_votes_one_by_one_come_to_the_same_in_any_order(case, random) -> None:  # type: ignore[no-untyped-def]
    rows, weights = case
    found = vote(np.array(rows), np.array(weights))
    for index, said in enumerate(rows):
        order = [member for member, label in enumerate(said) if label != ABSENT]
        random.shuffle(order)
        tally = Tally(weights)
        for member in order:
            tally.add(member, said[member])
        assert tally.leader == found.classes[index]
        assert tally.margin == pytest.approx(found.margins[index], abs=1e-9)


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


def test_of_equal_sums_the_largest_single_weight_wins_and_then_the_lowest_class() -> None:
    weights = np.array([[0.3, 0.1, 0.1], [0.1, 0.2, 0.1], [0.1, 0.1, 0.3]])
    assert vote(np.array([[1, 1, 2]]), weights).classes.tolist() == [2], "0.1 + 0.2 is 0.3 but for rounding"
    assert vote(np.array([[0, ABSENT, 2]]), weights).classes.tolist() == [0]
    assert vote(np.array([[0, ABSENT, 2]]), weights).tied.tolist() == [True]

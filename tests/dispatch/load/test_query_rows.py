"""How many rows queries are taken to have, by what came."""

import numpy as np
import pytest

from dispatch.load.query_rows import ALIKE, MIXED, NEAR, QueryRows


def after(*rows: int) -> int:
    seen = QueryRows()
    for each in rows:
        seen.on_query(each)
    return seen.usual


def test_before_anything_is_known_a_query_has_one_row() -> None:
    assert after() == 1
    assert after(*[8] * (ALIKE - 1)) == 1


@pytest.mark.parametrize("probes", [(), (1,), (1, 8, 1), (1,) * ALIKE])
def test_queries_that_are_alike_are_soon_known_for_it_whatever_came_before(probes: tuple[int, ...]) -> None:
    assert after(*probes, *[8] * ALIKE) == 8
    assert after(*probes, *[8] * ALIKE, *[3] * ALIKE) == 3


def test_where_they_differ_it_is_about_their_mean() -> None:
    draw = np.random.default_rng(1)
    assert 4 <= after(*draw.integers(1, 10, 2 * MIXED).tolist()) <= 6


def test_a_mixture_changes_nothing_again_and_again() -> None:
    """Where nine in ten have one row, dozens in a row are alike, and means are soon this, soon that."""
    draw, seen, usual = np.random.default_rng(2), QueryRows(), []
    for rows in draw.choice([1, 64], 100_000, p=[0.9, 0.1]).tolist():
        seen.on_query(rows)
        usual.append(seen.usual)
    known = np.array(usual[MIXED:])
    assert (np.diff(known) != 0).sum() <= 10
    assert 7.3 / NEAR <= known[-1] <= 7.3 * NEAR


def test_after_a_mixture_queries_that_are_alike_take_longer_to_be_believed() -> None:
    mixed = [1, 64] * MIXED
    assert after(*mixed) == after(*mixed, *[5] * ALIKE) == 32
    assert after(*mixed, *[5] * (2 * MIXED)) == 5
    assert after(*mixed, *[5] * (2 * MIXED), *[6] * ALIKE) == 6

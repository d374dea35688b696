"""How many rows queries are taken to have, by what came."""

import numpy as np
import pytest

from dispatch.load.query_rows import BLOCK, NEAR, QueryRows

MANY = 400


def after(*rows: int) -> int | None:
    seen = QueryRows()
    for each in rows:
        seen.on_query(each)
    return seen.usual


def changes(rows: list[int]) -> list[int]:
    """The usual numbers, one after the other."""
    seen, usual = QueryRows(), []
    for each in rows:
        seen.on_query(each)
        if seen.usual is not None and usual[-1:] != [seen.usual]:
            usual.append(seen.usual)
    return usual


def test_before_enough_came_nothing_is_known() -> None:
    assert after() is None
    assert after(*[8] * (BLOCK - 1)) is None


@pytest.mark.parametrize("probes", [(), (1,), (1, 8, 1)])
def test_queries_that_are_alike_are_soon_known_for_it(probes: tuple[int, ...]) -> None:
    assert after(*probes, *[8] * BLOCK) == 8


def test_what_they_had_before_is_forgotten() -> None:
    assert changes([8] * MANY + [3] * MANY)[0] == 8
    assert after(*[8] * MANY, *[3] * MANY) == 3


@pytest.mark.parametrize("others", [[1], [1, 2, 3], [64]])
def test_a_few_of_other_sizes_change_nothing(others: list[int]) -> None:
    draw = np.random.default_rng(1)
    rows = [8 if draw.random() < 0.85 else int(draw.choice(others)) for _ in range(50 * MANY)]
    assert changes(rows) == [8]


def test_where_none_is_usual_it_is_about_their_mean() -> None:
    usual = after(*np.random.default_rng(1).integers(1, 10, MANY).tolist())
    assert usual is not None
    assert 5 / NEAR <= usual <= 5 * NEAR


@pytest.mark.parametrize(("sizes", "shares"), [([1, 64], [0.5, 0.5]), ([1, 8, 64], [0.4, 0.3, 0.3])])
def test_a_mixture_changes_little_again_and_again(sizes: list[int], shares: list[float]) -> None:
    rows = np.random.default_rng(2).choice(sizes, 100_000, p=shares).tolist()
    assert len(changes(rows)) < 20

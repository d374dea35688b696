"""Intervals of shares, against scipy."""

import pytest
from scipy.stats import binomtest

from catalog.evaluation.interval import wilson


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (3, 7), (0, 50), (950, 1000), (2107, 2156)])
def test_wilsons_interval_is_that_of_scipy(hits: int, count: int) -> None:
    expected = binomtest(hits, count).proportion_ci(0.95, method="wilson")
    assert wilson(hits, count) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_nothing_is_known_without_examples() -> None:
    assert wilson(0, 0) == (0.0, 1.0)

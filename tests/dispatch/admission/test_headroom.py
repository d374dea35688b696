"""The headroom settles where as many are late as may be."""

import random

import pytest

from dispatch.admission.headroom import BEGIN, LEAST, MOST, Headroom


def test_late_queries_lower_the_share_and_timely_ones_raise_it() -> None:
    headroom = Headroom(0.02)
    headroom.on_batch(10, late=3)
    assert headroom.share < BEGIN
    lower = headroom.share
    headroom.on_batch(10, late=0)
    assert lower < headroom.share < BEGIN


def test_it_stays_within_its_bounds() -> None:
    headroom = Headroom(0.02)
    for _ in range(200):
        headroom.on_batch(100, late=100)
    assert headroom.share == LEAST
    for _ in range(1000):
        headroom.on_batch(100, late=0)
    assert headroom.share == MOST


@pytest.mark.parametrize("late_share", [0.01, 0.02, 0.1])
def test_it_settles_where_the_allowed_share_is_late(late_share: float) -> None:
    draws = random.Random(1)
    headroom = Headroom(late_share)
    late = queries = 0
    for number in range(40_000):
        took = draws.gauss(0.6, 0.1) + headroom.share - BEGIN  # planning with more of the time, answers come later
        is_late = took > 0.8
        headroom.on_batch(1, is_late)
        if number > 10_000:
            late, queries = late + is_late, queries + 1
    assert late / queries == pytest.approx(late_share, rel=0.2)

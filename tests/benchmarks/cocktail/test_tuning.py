"""Where on its frontier a system is compared."""

from dataclasses import replace

import pytest

from benchmarks.cocktail.figures import Figures
from benchmarks.cocktail.tuning import HEADROOMS, tune

NOTHING = Figures(*[0.0] * 11, 0, 0)


def cheaper_and_worse(headroom: float) -> Figures:
    return replace(NOTHING, dollars_per_h=headroom, violations_pct=1.0 if headroom < 1.0 else 0.0)


def test_the_least_headroom_that_keeps_the_promise_is_found() -> None:
    tuned = tune(cheaper_and_worse, lambda figures: figures.violations_pct < 0.5)
    assert tuned.kept
    assert 1.0 <= tuned.headroom < 1.1
    assert tuned.figures.dollars_per_h == tuned.headroom
    assert {point.headroom for point in tuned.frontier} > set(HEADROOMS)


def test_where_the_least_is_enough_nothing_else_is_tried() -> None:
    tuned = tune(cheaper_and_worse, lambda figures: True)
    assert tuned.headroom == HEADROOMS[0]
    assert len(tuned.frontier) == len(HEADROOMS)


def test_where_nothing_is_enough_the_most_is_taken_and_said() -> None:
    tuned = tune(cheaper_and_worse, lambda figures: False)
    assert (tuned.headroom, tuned.kept) == (HEADROOMS[-1], False)


@pytest.mark.parametrize("cheap", HEADROOMS)
def test_of_those_that_keep_it_the_cheapest_is_taken(cheap: float) -> None:
    tuned = tune(lambda headroom: replace(NOTHING, dollars_per_h=abs(headroom - cheap)), lambda figures: True)
    assert tuned.headroom == cheap

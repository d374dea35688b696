"""Goals of the comparison on machines of a cloud."""

from dataclasses import replace

import pytest

from benchmarks.cocktail.comparison import Comparison, Reported
from benchmarks.cocktail.figures import Figures
from benchmarks.cocktail.goals import CHEAPER, goals_of
from benchmarks.cocktail.systems import COCKTAIL
from benchmarks.cocktail.tuning import Point, Tuned

OURS = replace(Figures(*[1.0] * 11, 0, 0), violations_pct=0.0, met_pct=97.0)
OTHERS = replace(OURS, dollars_per_h=3.0, latency_p50_s=3.0)


def comparison(*unkept: str) -> Comparison:
    figures = {COCKTAIL: OURS, **dict.fromkeys(CHEAPER, OTHERS)}
    tuned = {name: Tuned((Point(1.0, each),), 1.0, name not in unkept) for name, each in figures.items()}
    reported = {name: Reported([each], {}) for name, each in figures.items()}
    return Comparison({}, {"strict": tuned, "relaxed": tuned}, {"strict": reported, "relaxed": reported})


def test_all_goals_are_met_where_ours_is_cheaper_and_faster() -> None:
    assert all(goal.met for goal in goals_of(comparison()).values())


@pytest.mark.parametrize("name", CHEAPER)
def test_a_system_that_keeps_its_promise_at_no_headroom_does_not_compare(name: str) -> None:
    goals = goals_of(comparison(name))
    assert [which for which, goal in goals.items() if not goal.met] == [f"times_cheaper_than_{name}"]
    assert goals[f"times_cheaper_than_{name}"].reached == pytest.approx(3.0), "told all the same"

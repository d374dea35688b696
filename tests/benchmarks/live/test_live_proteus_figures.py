"""Figures and goals of the live comparison of planners."""

import numpy as np
import pytest

from benchmarks.live_proteus.figures import Outcome, Row, at_drop, goals_of, median_of
from benchmarks.live_ramsis.figures import spread_of


def test_the_worst_window_is_the_drop() -> None:
    at_s = np.arange(20.0)
    accuracy = np.where(at_s < 10, 1.0, 0.9)
    found = Outcome.of(at_s, np.zeros(20, dtype=np.bool_), accuracy)
    assert found.accuracy_pct == pytest.approx(95.0)
    assert found.max_drop_pct == pytest.approx(10.0)
    nothing = Outcome.of(at_s, np.ones(20, dtype=np.bool_), np.full(20, np.nan))
    assert (nothing.accuracy_pct, nothing.violation_pct, nothing.drop_pct) == (None, 100.0, 100.0)


def test_of_draws_the_median_counts_figure_by_figure() -> None:
    draws = [Outcome(95.0, 9.0, 1.0), Outcome(97.0, 3.0, 9.0), Outcome(None, None, 100.0)]
    assert median_of(draws) == Outcome(96.0, 6.0, 9.0)
    assert spread_of(draws) == {"accuracy_pct": (95.0, 97.0), "violation_pct": (1.0, 100.0)}
    assert median_of(draws[2:]).accuracy_pct is None
    assert spread_of(draws[2:]) == {"violation_pct": (100.0, 100.0)}


def row(
    system: str,
    live: tuple[float, float],
    simulated: tuple[float, float] | None = None,
    spread: dict[str, tuple[float, float]] | None = None,
) -> Row:
    found = Outcome(live[0], 0.0, live[1])
    same = found if simulated is None else Outcome(simulated[0], 0.0, simulated[1])
    return Row(system, "twitter", 100, found, same, {}, 3, 0.1, {"path_s": 0.003}, spread or {})


BASELINES = [row("infaas", (96.0, 9.0)), row("sommelier", (96.5, 3.0)), row("sommelier_tight", (96.5, 3.0))]


def test_a_third_of_the_violations_at_no_more_drop_meets_the_goal() -> None:
    goals = goals_of([row("accord", (97.0, 1.0)), *BASELINES, row("clipper_ht", (80.0, 0.0))])
    assert all(goal["met"] for goal in goals.values())
    assert goals["fewer_violations_twitter"]["baselines"].keys() == {"infaas", "sommelier", "sommelier_tight"}


@pytest.mark.parametrize(
    "changed",
    [row("accord", (97.0, 1.1)), row("accord", (96.3, 1.0)), row("accord", (97.0, 1.0), simulated=(97.6, 1.0))],
)
def test_a_goal_that_is_missed_is_said(changed: Row) -> None:
    goals = goals_of([changed, *BASELINES])
    assert sum(not goal["met"] for goal in goals.values()) == 1


def test_every_baseline_counts_and_only_what_ships_stands_beside_it() -> None:
    rows = [
        row("accord", (97.0, 1.0)),
        row("accord_roomy", (95.0, 0.1)),
        row("sommelier", (94.0, 0.4)),
        row("sommelier_tight", (96.0, 3.0)),
        row("infaas", (98.0, 9.0)),
    ]
    goal = goals_of(rows)["fewer_violations_twitter"]
    assert {name: each["met"] for name, each in goal["baselines"].items()} == {
        "sommelier": False,
        "sommelier_tight": True,
        "infaas": False,
    }
    assert [name for name, each in goal["baselines"].items() if not each["no_more_drop"]] == ["infaas"]
    assert not goal["met"]


def test_beside_a_baseline_stands_what_the_frontier_has_at_its_drop() -> None:
    tight, roomy = Outcome(96.0, 0.0, 0.4), Outcome(94.0, 0.0, 0.1)

    def beside(accuracy_pct: float, violation_pct: float, *frontier: Outcome) -> tuple[float | None, float | None]:
        found = at_drop(frontier, Outcome(accuracy_pct, 0.0, violation_pct))
        return found["violation_pct_at_their_drop"], found["times_fewer_at_their_drop"]

    assert beside(95.0, 1.0, tight, roomy) == (pytest.approx(0.25), pytest.approx(4.0))
    assert beside(94.0, 1.0, tight, roomy) == (pytest.approx(0.1), pytest.approx(10.0))
    assert beside(90.0, 1.0, tight, roomy) == (pytest.approx(0.1), pytest.approx(10.0)), "with less drop"
    assert beside(96.5, 1.0, tight, roomy) == (None, None)
    assert beside(95.0, 1.0, tight) == (pytest.approx(0.4), pytest.approx(2.5))
    assert beside(95.0, 1.0) == (None, None)
    assert beside(95.0, 1.0, Outcome(95.5, 0.0, 0.0)) == (0.0, None)
    worse = Outcome(94.0, 0.0, 0.9)
    assert beside(95.0, 1.0, tight, worse) == (pytest.approx(0.4), pytest.approx(2.5)), "nobody takes the worse part"


@pytest.mark.parametrize("rows", [[row("accord", (97.0, 0.0))], BASELINES, [row("accord", (97.0, 0.5)), BASELINES[0]]])
def test_what_was_not_played_is_not_met(rows: list[Row]) -> None:
    assert not goals_of(rows)["fewer_violations_twitter"]["met"]


def test_where_a_baseline_violates_nothing_nobody_is_ahead() -> None:
    rows = [row("accord", (97.0, 0.0)), *BASELINES[:2], row("sommelier_tight", (96.5, 0.0))]
    assert not goals_of(rows)["fewer_violations_twitter"]["met"]


def test_a_row_between_its_draws_is_told_from_one_that_is_beyond_them() -> None:
    spread = {"accuracy_pct": (94.0, 95.0), "violation_pct": (4.0, 9.0)}
    goal = goals_of(
        [
            row("infaas", (94.5, 3.1), simulated=(94.5, 9.0), spread=spread),
            row("sommelier", (94.5, 2.9), simulated=(94.5, 9.0), spread=spread),
        ]
    )["live_is_simulated"]
    assert goal["apart"].keys() == {"infaas, twitter", "sommelier, twitter"}
    assert goal["beyond_draws"] == ["sommelier, twitter"]

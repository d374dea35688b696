"""Policies at the same number of workers."""

import numpy as np
import pytest

from benchmarks.forecast_value.frontier import (
    ALL,
    Point,
    gains,
    headroom_for,
    kinds_of,
    mean_workers,
    violations_at,
)
from benchmarks.forecast_value.parts import LENGTH_S, Choice, Part
from benchmarks.forecast_value.play import Outcome, demands_qps
from benchmarks.forecast_value.policies import Policy
from forecast_value_scene import DAY_S, HOUR_S, bursts_every_other_hour, some_parts

BURSTY = Part("bursty", 0, 1, np.zeros(1, dtype=np.int64))
CALM = Part("diurnal", HOUR_S, 0, np.zeros(1, dtype=np.int64))


def outcome(queries: int, violations: int, workers: float) -> Outcome:
    return Outcome(queries, violations, workers * LENGTH_S, (), np.zeros(0, dtype=np.int64))


def test_all_hours_count_each_part_as_often_as_there_are_hours_like_it() -> None:
    choice = Choice((BURSTY, CALM), {"bursty": 2, "diurnal": 6})
    outcomes = [outcome(1000, 100, 9.0), outcome(500, 0, 5.0)]
    assert Point.of(choice, outcomes, "bursty") == Point(10.0, 9.0)
    assert Point.of(choice, outcomes, "diurnal") == Point(0.0, 5.0)
    assert Point.of(choice, outcomes, ALL) == Point(100 * 200 / 5000, 6.0)


def test_a_kind_that_was_not_played_has_no_figures() -> None:
    assert kinds_of(Choice((BURSTY,), {"bursty": 2, "diurnal": 0})) == [ALL, "bursty"]


def test_between_points_violations_lie_on_the_line_and_more_workers_are_never_worse() -> None:
    points = [Point(2.0, 12.0), Point(4.0, 10.0), Point(3.0, 14.0)]
    found = [violations_at(points, workers) for workers in (9.0, 10.0, 11.0, 12.0, 13.0, 20.0)]
    assert found == [4.0, 4.0, 3.0, 2.0, 2.0, 2.0]


def test_gains_compare_at_the_workers_of_each_policy() -> None:
    points = {
        "reactive": [Point(4.0, 10.0), Point(2.0, 12.0)],
        "oracle": [Point(0.5, 10.0), Point(0.0, 12.0)],
        "ours": [Point(1.0, 11.0)],
    }
    ours = gains(
        {name: own[:1] for name, own in points.items()} | {"reactive": points["reactive"]}, 0, "reactive", "oracle"
    )
    assert ours["ours"]["fewer_violations_than_reactive"] == pytest.approx(3.0)
    exact = gains(points, 0, "reactive", "oracle")["ours"]
    assert exact["share_of_oracle_gain"] == pytest.approx((3.0 - 1.0) / (3.0 - 0.25))
    assert exact["workers"] == 11.0


def test_the_oracle_is_all_of_its_gain_and_no_violation_is_no_ratio() -> None:
    points = {"reactive": [Point(4.0, 10.0)], "oracle": [Point(0.0, 10.0)]}
    figures = gains(points, 0, "reactive", "oracle")
    assert figures["oracle"]["fewer_violations_than_reactive"] is None
    assert (figures["oracle"]["share_of_oracle_gain"], figures["reactive"]["share_of_oracle_gain"]) == (1.0, 0.0)


def test_the_headroom_is_found_that_makes_so_many_workers() -> None:
    series = bursts_every_other_hour(1)
    parts = some_parts(series, HOUR_S, DAY_S)
    choice = Choice(parts, {"bursty": 3, "diurnal": 1})
    demands = [demands_qps(Policy("reactive"), number, part) for number, part in enumerate(parts)]
    wanted = 1.5 * mean_workers(choice, demands, 1.0, 100)
    found = headroom_for(choice, demands, wanted, 100)
    assert (
        mean_workers(choice, demands, 0.98 * found, 100) <= wanted <= mean_workers(choice, demands, 1.02 * found, 100)
    )

"""Means, spreads, headrooms and goals, worked out by hand."""

from typing import Any

import pytest

from benchmarks.proteus.summary import Summary, goals, ratios
from benchmarks.proteus.sweep import Case, Figures, best_headrooms, reported, tuning
from benchmarks.proteus.systems import BASELINES, SWEPT, SYSTEMS, TUNED
from simulator.metrics import Metrics


def figures(violation_ratio: float, drop: float | None, plans: int = 1) -> Figures:
    accuracy = None if drop is None else 100.0 - drop / 2
    return Figures(Metrics(100.0, 200.0, accuracy, drop, violation_ratio), plans, 0.0, 3, 0.1, 0.2, 1.0)


def rows(**of: tuple[float, float | None]) -> dict[str, dict[str, Any]]:
    return {
        name: {"slo_violation_ratio": ratio, "max_accuracy_drop_pct": drop, "peak_throughput_qps": 10.0}
        for name, (ratio, drop) in of.items()
    }


def test_a_row_has_means_and_spread_over_the_seeds_and_a_point_per_headroom() -> None:
    chosen = dict.fromkeys(SYSTEMS, 1.0)
    runs = {Case(name, 1.0, seed): figures(0.1, 4.0) for name in SYSTEMS for seed in range(2)}
    runs |= {Case("sommelier", 1.0, 0): figures(0.02, 1.0, 5), Case("sommelier", 1.0, 1): figures(0.04, None, 6)}
    runs |= {Case("sommelier", 1.5, seed): figures(0.01, 6.0) for seed in range(2)}
    row = Summary(runs, chosen).systems["sommelier"]
    assert row["slo_violation_ratio"] == pytest.approx(0.03)
    assert row["max_accuracy_drop_pct"] == 1.0, "of the seed that answered anything"
    assert row["plans"] == 5.5
    assert row["spread"]["slo_violation_ratio"] == [0.02, 0.04]
    assert [(point["headroom"], point["max_accuracy_drop_pct"]) for point in row["frontier"]] == [
        (1.0, 1.0),
        (1.5, 6.0),
    ]
    assert list(Summary(runs, chosen).systems) == list(SYSTEMS)


def test_the_headroom_with_the_least_sum_of_violations_and_drop_is_chosen() -> None:
    runs = {
        Case("sommelier", 1.0, 0): figures(0.05, 1.0),
        Case("sommelier", 1.2, 0): figures(0.01, 2.0),
        Case("sommelier", 2.0, 0): figures(0.0, 9.0),
        Case("clipper_ht", 1.0, 0): figures(0.0, 9.0),
        Case("clipper_ht", 1.2, 0): figures(0.0, 9.0),
        Case("clipper_ha", 1.0, 0): figures(0.0, None),
        Case("clipper_ha", 1.2, 0): figures(0.9, 0.0),
    }
    assert best_headrooms(runs) == {"sommelier": 1.2, "clipper_ht": 1.0, "clipper_ha": 1.2}


def test_every_swept_system_is_played_with_all_headrooms_and_every_other_with_its_own() -> None:
    chosen = dict.fromkeys(SYSTEMS, 1.3)
    cases = reported((1.0, 2.0), chosen, seeds=2)
    for name in SYSTEMS:
        wanted = {1.0, 1.3, 2.0} if name in SWEPT else {1.3}
        played = {(case.headroom, case.seed) for case in cases if case.system == name}
        assert played == {(headroom, 0) for headroom in wanted} | {(1.3, 1)}
    assert len(set(cases)) == len(cases)
    assert {case.system for case in tuning((1.0, 2.0))} == set(TUNED)


def test_a_goal_is_met_by_who_is_no_worse_on_both_and_twice_as_good_on_one() -> None:
    same = dict.fromkeys(BASELINES, (0.02, 4.0))
    assert not any(goals(rows(proteus=(0.02, 4.0), **same)).values())
    assert all(goals(rows(proteus=(0.01, 4.0), **same)).values())
    assert all(goals(rows(proteus=(0.02, 2.0), **same)).values())
    assert not any(goals(rows(proteus=(0.001, 4.1), **same)).values())
    nothing = dict.fromkeys(BASELINES, (0.0, 4.0))
    assert not any(goals(rows(proteus=(0.0, 4.0), **nothing)).values()), "nothing is not twice as good as nothing"
    assert all(goals(rows(proteus=(0.0, 1.0), **nothing)).values())
    assert all(goals(rows(proteus=(0.0, 1.0), **dict.fromkeys(BASELINES, (0.0, None)))).values())


def test_ratios_are_of_what_there_is() -> None:
    found = ratios(rows(proteus=(0.01, 0.0), **dict.fromkeys(BASELINES, (0.02, 4.0))))
    assert found["violations"] == dict.fromkeys(BASELINES, 2.0)
    assert found["accuracy_drop"] == dict.fromkeys(BASELINES)
    assert found["peak_throughput_over_clipper_ha"] == 1.0

"""Queries sent while workers change variants are compared with the others."""

import pytest

from adaptation_scene import decision, record
from benchmarks.adaptation.answers import Answers
from benchmarks.adaptation.plan_times import AFTERMATH_S
from benchmarks.adaptation.service import Service
from benchmarks.adaptation.switching import ObjectiveSwitch, switch_figures
from benchmarks.adaptation.traffic import Played, failures_of

NOW_S = 1_800_000_000.0
SWITCH = ObjectiveSwitch(Service("http://127.0.0.1:1", {}, {"e": 100.0}), "e")


def played(slow_from_s: float, slow_to_s: float) -> Played:
    """Ten queries a second for 20 s, answered after 10 ms, or 60 ms in between; one fails at 15 s."""
    instants_s = [number / 10 for number in range(200)]
    rows = [record(at_s, 0.06 if slow_from_s <= at_s < slow_to_s else 0.01) for at_s in instants_s]
    rows[150] = record(15.0, 0.01, None, error="NoWorker")
    records = {"e": rows}
    return Played(NOW_S, 20.0, Answers.of(records, {"e": 100.0}), failures_of(records), 1.0)


def test_what_a_switch_costs_is_the_difference_of_percentiles() -> None:
    decisions = [
        decision(1, NOW_S - 2, NOW_S - 1, {}, {"w": ["large"]}),
        decision(2, NOW_S + 5, NOW_S + 5.5, {}, {"w": ["small"]}),
        decision(3, NOW_S + 8, NOW_S + 8.5, {}, {"w": ["small"]}),
    ]
    figures = switch_figures(SWITCH, played(5.0, 6.0), decisions)
    assert figures["switches"] == 1
    assert figures["queries_in_switches"] == round((0.5 + AFTERMATH_S) * 10)
    assert figures["switch_added_p99_ms"] == pytest.approx(50.0)
    assert figures["in_force_s"] == pytest.approx([0.5], abs=2e-3)
    assert (figures["switch_failed_queries"], figures["failed_in_switches"]) == (1, 0)


def test_without_a_switch_nothing_is_said_of_its_cost() -> None:
    figures = switch_figures(SWITCH, played(5.0, 6.0), [decision(1, NOW_S + 2, NOW_S + 3, {}, {"w": ["large"]})])
    assert (figures["switches"], figures["switch_added_p99_ms"]) == (0, None)

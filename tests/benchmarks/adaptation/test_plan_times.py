"""Decisions are matched with what happened to the load."""

import numpy as np
import pytest

from adaptation_scene import decision
from benchmarks.adaptation.plan_times import AFTERMATH_S, covered_before, in_brief, plan_in_force_s, switches

NOW_S = 1_800_000_000.0
LOAD_QPS = {"a": 200.0, "b": 200.0}
ENOUGH, TOO_LITTLE = {"a": 180.0, "b": 400.0}, {"a": 179.0, "b": 4000.0}


def test_the_first_plan_that_covers_every_endpoint_counts() -> None:
    decisions = [
        decision(1, NOW_S - 5, NOW_S - 4, TOO_LITTLE),
        decision(2, NOW_S + 0.5, NOW_S + 0.75, TOO_LITTLE),
        decision(3, NOW_S + 1, None, ENOUGH),
        decision(4, NOW_S + 1.5, NOW_S + 2.25, ENOUGH),
        decision(5, NOW_S + 3, NOW_S + 3.5, ENOUGH),
    ]
    assert plan_in_force_s(decisions, NOW_S, LOAD_QPS) == pytest.approx(2.25, abs=2e-3)
    assert not covered_before(decisions, NOW_S, LOAD_QPS)


def test_a_plan_asked_for_before_the_step_does_not_know_of_it() -> None:
    assert plan_in_force_s([decision(1, NOW_S - 0.5, NOW_S + 0.5, ENOUGH)], NOW_S, LOAD_QPS) is None


def test_no_plan_that_covers_is_no_time() -> None:
    assert plan_in_force_s([decision(1, NOW_S + 1, NOW_S + 2, TOO_LITTLE)], NOW_S, LOAD_QPS) is None


def test_a_plan_that_has_the_room_already_is_noticed() -> None:
    replaced, last = decision(1, NOW_S - 9, NOW_S - 8, TOO_LITTLE), decision(2, NOW_S - 5, NOW_S - 4, ENOUGH)
    assert covered_before([replaced, last], NOW_S, LOAD_QPS)
    assert not covered_before([replaced], NOW_S, LOAD_QPS)
    assert not covered_before([], NOW_S, LOAD_QPS)


def test_only_plans_that_change_what_workers_hold_are_switches() -> None:
    one, other = {"w": ["large"]}, {"w": ["small"]}
    decisions = [
        decision(1, NOW_S - 5, NOW_S - 4, ENOUGH, one),
        decision(2, NOW_S + 1, NOW_S + 1.5, ENOUGH, one),
        decision(3, NOW_S + 2, NOW_S + 2.5, ENOUGH, other),
        decision(4, NOW_S + 3, None, ENOUGH, one),
        decision(5, NOW_S + 4, NOW_S + 4.25, ENOUGH, one),
        decision(6, NOW_S + 40, NOW_S + 41, ENOUGH, other),
    ]
    expected = [(NOW_S + 2, NOW_S + 2.5 + AFTERMATH_S), (NOW_S + 4, NOW_S + 4.25 + AFTERMATH_S)]
    np.testing.assert_allclose(switches(decisions, NOW_S, NOW_S + 30), expected, rtol=0, atol=2e-3)


def test_the_brief_has_the_decisions_of_the_time_even_those_that_came_to_nothing() -> None:
    asked_only = decision(2, NOW_S + 1, None, {}) | {"plan": None}
    brief = in_brief([decision(1, NOW_S - 1, NOW_S, ENOUGH), asked_only], NOW_S, NOW_S + 5)
    assert [each["version"] for each in brief] == [2]
    assert (brief[0]["capacity_qps"], brief[0]["held"]) == (None, None)
    assert brief[0]["asked_s"] == pytest.approx(1.0, abs=2e-3)

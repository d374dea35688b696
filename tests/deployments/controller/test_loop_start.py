"""The control loop as a controller begins it."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest
from controller_parts import settings

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.cluster.plan_record import to_record
from autoscaler.demand.demand import MovingMaximum
from deployments.controller.loop_start import new_loop
from deployments.state.decisions import Decisions
from deployments.state.saved_state import ControllerState

PLAN = ClusterPlan(
    held={"w1": frozenset({"fast"})},
    shares={"digits": {"w1": 1.0}},
    demand_qps={"digits": 10.0},
    served_qps={"digits": 10.0},
    capacity_qps={"digits": 30.0},
    accuracy={"digits": 0.9},
    pool_sizes={"cpu": 1},
    report=SolveReport(Status.OPTIMAL, 0.0, 0.1),
)


def plan_of(record: dict[str, Any]) -> ClusterPlan:
    """The plan that a loop begins with where this record was in force."""
    decisions = Decisions()
    decision = decisions.begin("the load", 1.0)
    decision.plan = record
    decisions.put_in_force(decision, 1.0, 2.0)
    known = cast(ControllerState, SimpleNamespace(decisions=decisions))
    return new_loop(settings(), known, MovingMaximum()).plan


def test_the_plan_in_force_is_gone_on_with() -> None:
    assert plan_of(to_record(PLAN)) == PLAN


def test_one_from_before_capacity_had_its_name_is_read() -> None:
    record = to_record(PLAN)
    record["room_qps"] = record.pop("capacity_qps")
    assert plan_of(record) == PLAN


@pytest.mark.parametrize("record", [{}, {"held": 3}])
def test_one_that_cannot_be_read_is_said_and_planned_anew(
    record: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert plan_of(record).held == {}
    assert "Plan 1, in force before, cannot be read" in caplog.text

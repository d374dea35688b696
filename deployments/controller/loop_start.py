"""The control loop as a controller begins it, and its way of counting."""

import logging
from collections.abc import Collection

from autoscaler.cluster.observation import Statistics
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.cluster.plan_record import from_record
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import DemandEstimate
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.planners.registry import planner_kind
from deployments.messages.control_settings import ControlSettings
from deployments.state.saved_state import ControllerState

logger = logging.getLogger("ray.serve")

NO_PLAN = NoPlan(SolveReport(Status.NO_ANSWER, None, 0.0))


def new_loop(settings: ControlSettings, known: ControllerState, demand: DemandEstimate) -> ControlLoop:
    """Everything that the loop knows begins anew, except the plan in force, which was kept."""
    by_load = planner_kind(settings.planner).by_load
    interval_s = settings.interval_s if by_load else float("inf")
    nothing = ClusterPlan(report=NO_PLAN.report)
    return ControlLoop(interval_s, demand, BurstTrigger() if by_load else None, _kept(known) or nothing)


def _kept(known: ControllerState) -> ClusterPlan | None:
    """The plan that was in force; None where there was none, or another version of Accord wrote it in another form."""
    decision = known.decisions.in_force
    if decision is None or decision.plan is None:
        return None
    try:
        return from_record(decision.plan)
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("Plan %d, in force before, cannot be read (%r); planning anew.", decision.version, error)
        return None


def as_loop_counts(statistics: Statistics, began_s: float, endpoints: Collection[str]) -> Statistics:
    """Time from 0, and endpoints that are there, whatever an application before had."""
    counts = (statistics.arrived, statistics.violated)
    arrived, violated = ({n: c for n, c in each.items() if n in endpoints} for each in counts)
    stage_rows = {name: rows for name, rows in statistics.stage_rows.items() if name in endpoints}
    return Statistics(statistics.start_s - began_s, statistics.end_s - began_s, arrived, violated, stage_rows)

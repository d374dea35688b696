"""The control loop as a controller begins it, and its way of counting."""

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

NO_PLAN = NoPlan(SolveReport(Status.NO_ANSWER, None, 0.0))


def new_loop(settings: ControlSettings, known: ControllerState, demand: DemandEstimate) -> ControlLoop:
    """Everything that the loop knows begins anew, except the plan in force, which was kept."""
    decision = known.decisions.in_force
    kept = from_record(decision.plan) if decision is not None and decision.plan is not None else None
    by_load = planner_kind(settings.planner).by_load
    interval_s = settings.interval_s if by_load else float("inf")
    nothing = ClusterPlan({}, {}, {}, {}, {}, {}, {}, NO_PLAN.report)
    return ControlLoop(interval_s, demand, BurstTrigger() if by_load else None, kept or nothing)


def as_loop_counts(statistics: Statistics, began_s: float, endpoints: Collection[str]) -> Statistics:
    """Time from 0, and endpoints that are there, whatever an application before had."""
    counts = (statistics.arrived, statistics.violated)
    arrived, violated = ({n: c for n, c in each.items() if n in endpoints} for each in counts)
    return Statistics(statistics.start_s - began_s, statistics.end_s - began_s, arrived, violated)

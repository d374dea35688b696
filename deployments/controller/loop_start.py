"""The control loop as a controller begins it, and its way of counting."""

import logging
from collections.abc import Collection

from autoscaler.cluster.observation import Statistics
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.cluster.plan_record import from_record
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import DemandEstimate
from autoscaler.demand.popularity import Popularity
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.planners.registry import planner_kind
from deployments.messages.control_settings import ControlSettings
from deployments.state.saved_state import ControllerState
from dispatch.query import ONLY_STAGE

logger = logging.getLogger("ray.serve")

NO_PLAN = NoPlan(SolveReport(Status.NO_ANSWER, None, 0.0))


def new_loop(settings: ControlSettings, known: ControllerState, demand: DemandEstimate) -> ControlLoop:
    """Everything that the loop knows begins anew, except the plan in force, which was kept."""
    by_load = planner_kind(settings.planner).by_load
    interval_s = settings.interval_s if by_load else float("inf")
    trigger = BurstTrigger() if by_load else None
    initial = _kept(known) or ClusterPlan(report=NO_PLAN.report)
    return ControlLoop(interval_s, demand, trigger, initial, _popularity(settings))


def _popularity(settings: ControlSettings) -> Popularity:
    """With every member of an ensemble reckoned with, whether it was asked lately or not.

    A member without a worker is asked nothing, so that counts alone would never give it one. As `Popularity` has it,
    every member is taken to be asked by all of a few queries: by all there are until some were counted, and then by
    few, but never none.
    """
    if not planner_kind(settings.planner).for_ensembles:
        return Popularity()
    members = {name: each.stages[ONLY_STAGE].variants for name, each in settings.endpoints.items()}
    return Popularity(expected={name: dict.fromkeys(own, 1.0) for name, own in members.items() if own is not None})


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
    counts = (statistics.arrived, statistics.violated, statistics.refused, statistics.expired)
    arrived, violated, refused, expired = ({n: c for n, c in each.items() if n in endpoints} for each in counts)
    stage_rows = {name: rows for name, rows in statistics.stage_rows.items() if name in endpoints}
    start_s, end_s = statistics.start_s - began_s, statistics.end_s - began_s
    return Statistics(start_s, end_s, arrived, violated, stage_rows, refused, expired)

"""When to plan, and from what: the same in the simulator and on a live cluster."""

from collections.abc import Mapping
from math import ceil

from autoscaler.burst import BurstTrigger
from autoscaler.cluster_plan import ClusterPlan, NoPlan
from autoscaler.demand import DemandEstimate
from autoscaler.observation import Observation, Statistics


class ControlLoop:
    """Collects statistics, says when a plan is due and what it is to be made from.

    Without I/O: its host reports statistics about once a second, and where `on_statistics` gives a reason makes the
    `observation`, has a planner solve it wherever that is done, and calls `on_plan` with what came. No second plan is
    asked for while one is under way. Intervals go by whatever else is planned in between; ``interval_s`` infinity has
    none, and ``trigger`` None plans at intervals alone.
    """

    def __init__(
        self, interval_s: float, demand: DemandEstimate, trigger: BurstTrigger | None, initial: ClusterPlan
    ) -> None:
        self._interval_s = interval_s
        self._demand = demand
        self._trigger = trigger
        self._due_s = interval_s
        self._under_way = False
        self.plan = initial

    def on_statistics(self, statistics: Statistics) -> str | None:
        """Why a plan is due now, None where none is; the caller must then ask for one."""
        self._demand.on_statistics(statistics)
        if self._under_way:
            return None
        reason = None
        if statistics.end_s >= self._due_s - 1e-9:
            reason = "the interval is over"
            self._due_s += self._interval_s * ceil((statistics.end_s - self._due_s + 1e-6) / self._interval_s)
        elif self._trigger is not None:
            reason = self._trigger.reason(statistics, self.plan, self._demand.demand_qps())
        self._under_way = reason is not None
        return reason

    def observation(self, now_s: float, workers: Mapping[str, str], held: Mapping[str, frozenset[str]]) -> Observation:
        """What the planner is to see."""
        return Observation(now_s, self._demand.demand_qps(), workers, held)

    def on_plan(self, plan: ClusterPlan | NoPlan) -> None:
        """The planner is done; without an answer the plan in force stays."""
        self._under_way = False
        if isinstance(plan, ClusterPlan):
            self.plan = plan

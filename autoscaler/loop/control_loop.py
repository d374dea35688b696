"""When to plan, and from what: the same in the simulator and on a live cluster."""

from collections.abc import Mapping
from math import ceil

from autoscaler.cluster.observation import Observation, Statistics
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import DemandEstimate
from autoscaler.demand.popularity import Popularity
from dispatch.worker_info import WorkerInfo

CAUTION, MOST_CAUTION = 1.25, 2.0
"""How many times its load an endpoint in violation is planned for."""

SETTLED = 4
"""So many reports after a plan, violations are the plan's and not what was left of the one before."""


SHED = 0.001
"""The part of an endpoint's demand from which on it counts as shed."""


class ControlLoop:
    """Collects statistics, says when a plan is due and what it is to be made from.

    Without I/O: its host reports statistics once or twice a second, and where `on_statistics` gives a reason makes the
    `observation`, has a planner solve it wherever that is done, and calls `on_plan` with what came. No second plan is
    asked for while one is under way. Intervals go by whatever else is planned in between; ``interval_s`` infinity has
    none, and ``trigger`` None plans at intervals alone. What else calls for a plan, a worker that came or went, is said
    with `ask`.

    Where an endpoint violates its objective although the plan serves all of it and has room for its load, the same
    question would have the same answer: its demand is then reckoned `CAUTION` times as high, once per plan, up to
    `MOST_CAUTION`, and less again from interval to interval. Who is shed anyway is not helped by a larger demand.
    """

    def __init__(
        self,
        interval_s: float,
        demand: DemandEstimate,
        trigger: BurstTrigger | None,
        initial: ClusterPlan,
        popularity: Popularity | None = None,
    ) -> None:
        self._interval_s = interval_s
        self._demand = demand
        self._popularity = popularity or Popularity()
        self._trigger = trigger
        self._due_s = interval_s
        self._under_way = False
        self._reports = SETTLED
        self._caution: dict[str, float] = {}
        self._asked: dict[str, None] = {}
        self.plan = initial

    def on_statistics(self, statistics: Statistics) -> str | None:
        """Why a plan is due now, None where none is; the caller must then ask for one."""
        self._demand.on_statistics(statistics)
        self._popularity.on_statistics(statistics)
        if self._under_way:
            return None
        self._reports += 1
        if statistics.end_s >= self._due_s - 1e-9:
            self._asked["the interval is over"] = None
            self._caution = {name: more / CAUTION for name, more in self._caution.items() if more > CAUTION}
            self._due_s += self._interval_s * ceil((statistics.end_s - self._due_s + 1e-6) / self._interval_s)
        elif not self._asked and self._trigger is not None:
            reason = self._trigger.reason(statistics, self.plan, self._demanded_qps())
            if reason is None and self._reports > SETTLED:
                reason = self._grow_cautious(self._trigger.strained(statistics))
            if reason is not None:
                self._asked[reason] = None
        return self._begin()

    def ask(self, reason: str) -> str | None:
        """Something other than the load calls for a plan: why one is due now, which the caller must then ask for.

        None while one is under way: the first report after that has the reason, and all others that were given.
        """
        self._asked[reason] = None
        return None if self._under_way else self._begin()

    def observation(
        self, now_s: float, workers: Mapping[str, WorkerInfo], held: Mapping[str, frozenset[str]]
    ) -> Observation:
        """What the planner is to see."""
        return Observation(now_s, self._demanded_qps(), workers, held, self._popularity.shares())

    def on_plan(self, plan: ClusterPlan | NoPlan) -> None:
        """The planner is done; without an answer the plan in force stays."""
        self._under_way = False
        self._reports = 0
        if isinstance(plan, ClusterPlan):
            self.plan = plan

    def _begin(self) -> str | None:
        """From here on the plan that was asked for is under way; None where none was."""
        reason = "; ".join(self._asked) or None
        self._asked.clear()
        self._under_way = reason is not None
        return reason

    def _grow_cautious(self, strained: Mapping[str, float]) -> str | None:
        """Reckon with more of endpoints that should not be in violation; None where no more helps."""
        served_qps, demand_qps = self.plan.served_qps, self.plan.demand_qps
        unforeseen = [
            name
            for name in strained
            if served_qps.get(name, 0.0) >= (1 - SHED) * demand_qps.get(name, 0.0)
            and self._caution.get(name, 1.0) < MOST_CAUTION
        ]
        for name in unforeseen:
            self._caution[name] = min(self._caution.get(name, 1.0) * CAUTION, MOST_CAUTION)
        words = ", ".join(f"{strained[name]:.0%} of {name}" for name in unforeseen)
        return f"{words} in violation" if words else None

    def _demanded_qps(self) -> dict[str, float]:
        return {name: qps * self._caution.get(name, 1.0) for name, qps in self._demand.demand_qps().items()}

"""When a plan is asked for before its interval is over."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from autoscaler.cluster.observation import Statistics
from autoscaler.cluster.plan import ClusterPlan

CHANCE = 1.0
"""Standard deviations of the queries of a second, if they come at random."""


@dataclass(frozen=True)
class BurstTrigger:
    """Says when more comes than the plan has room for, much less than it was made for, and who violates too much.

    Proteus, section 4: load balancers call for a new plan when the demand changes rapidly. Where a plan has no room to
    speak of, ``tolerance`` is how far an endpoint's load may exceed what it was made for. Where workers hold fallback
    variants that bear it (``burst_qps`` of the plan), a load that exceeds the room by no more than chance, `CHANCE`,
    calls for no plan: a new one moves workers, whose fallback variants are still to come. ``lull`` is how far all load
    may fall below that, and ``violation_ratio`` how much of an endpoint's queries may be in violation. Fewer than
    ``least_queries`` in a report say nothing.
    """

    tolerance: float = 0.05
    lull: float = 0.2
    violation_ratio: float = 0.05
    least_queries: int = 5

    def reason(self, statistics: Statistics, plan: ClusterPlan, demand_qps: Mapping[str, float]) -> str | None:
        """Why to plan now, None where there is no reason to. ``demand_qps`` is the present estimate."""
        for name, estimate_qps in demand_qps.items():
            arrived = statistics.arrived.get(name, 0)
            if arrived < self.least_queries:
                continue
            planned_qps = plan.demand_qps.get(name, 0.0)
            capacity_qps = max(plan.capacity_qps.get(name, 0.0), planned_qps * (1 + self.tolerance))
            by_chance_qps = CHANCE * sqrt(estimate_qps) if plan.burst_qps.get(name, 0.0) >= estimate_qps else 0.0
            if estimate_qps - by_chance_qps > capacity_qps:
                return f"{name} has {estimate_qps:.0f} queries/s, the plan has room for {capacity_qps:.0f}"
        all_qps, all_planned_qps = sum(demand_qps.values()), sum(plan.demand_qps.values())
        if all_qps < all_planned_qps * (1 - self.lull):
            return f"{all_qps:.0f} queries/s come, the plan is for {all_planned_qps:.0f}"
        return None

    def strained(self, statistics: Statistics) -> dict[str, float]:
        """The endpoints that violate too much, with the part of their queries that does."""
        ratios = {
            name: statistics.violated.get(name, 0) / n
            for name, n in statistics.arrived.items()
            if n >= self.least_queries
        }
        return {name: ratio for name, ratio in ratios.items() if ratio > self.violation_ratio}

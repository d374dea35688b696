"""Queries spread over workers regardless of what those can serve (Proteus without query assignment, section 6.5)."""

from dataclasses import dataclass, replace

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.planners.planner import Planner


@dataclass(frozen=True)
class UniformShares:
    """Another planner's assignments, each endpoint's queries in equal parts to all workers that serve it.

    What the plan says of queries served, of room and of accuracy stays the planner's: with its shares that would be so.
    """

    planner: Planner

    @property
    def name(self) -> str:
        """The planner's, and what is missing."""
        return f"{self.planner.name}_uniform_shares"

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The planner's plan with its shares evened out."""
        plan = self.planner.plan(observation)
        if isinstance(plan, NoPlan):
            return plan
        even = {
            name: dict.fromkeys(shares, sum(shares.values()) / len(shares)) if shares else {}
            for name, shares in plan.shares.items()
        }
        words = "Every worker of an endpoint gets the same part of its queries, whatever it can serve."
        return replace(plan, shares=even, report=SolveReport(Status.HEURISTIC, None, plan.report.solve_s, (words,)))

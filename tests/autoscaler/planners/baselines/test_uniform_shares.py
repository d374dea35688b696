"""The same assignments with even shares."""

from dataclasses import dataclass

import pytest

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.planners.baselines.uniform_shares import UniformShares
from autoscaler_scene import held, observed


@dataclass
class Fixed:
    """Always the same plan."""

    made: ClusterPlan | NoPlan
    name: str = "fixed"

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        return self.made


def test_every_worker_of_an_endpoint_gets_the_same_part_of_what_is_served() -> None:
    shares = {"a": {"w1": 0.1, "w2": 0.5}, "b": {"w2": 1.0}, "c": {}}
    qps = {"a": 10.0, "b": 5.0, "c": 1.0}
    report = SolveReport(Status.OPTIMAL, 0.001, 0.25, ("All is well.",))
    made = ClusterPlan(
        held=held(w1="x", w2="y"),
        shares=shares,
        demand_qps=qps,
        served_qps=qps,
        capacity_qps=qps,
        accuracy={"a": 0.9, "b": 0.8},
        pool_sizes={"cpu": 2},
        report=report,
    )
    plan = UniformShares(Fixed(made)).plan(observed(qps, {}))
    assert isinstance(plan, ClusterPlan)
    assert plan.shares == {"a": pytest.approx({"w1": 0.3, "w2": 0.3}), "b": {"w2": 1.0}, "c": {}}
    assert (plan.held, plan.demand_qps, plan.pool_sizes) == (made.held, qps, {"cpu": 2})
    assert (plan.report.status, plan.report.gap, plan.report.solve_s) == (Status.HEURISTIC, None, 0.25)


def test_no_answer_stays_no_answer() -> None:
    nothing = NoPlan(SolveReport(Status.NO_ANSWER, None, 1.0))
    planner = UniformShares(Fixed(nothing))
    assert planner.plan(observed({}, {})) is nothing
    assert planner.name == "fixed_uniform_shares"

"""What a cluster asks of the program."""

from dataclasses import replace

import pytest

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.planners.ipa.placement.cluster_problem import LEAST_QPS, MOST_TIMES, problem_of
from autoscaler_scene import endpoint, even, linear, observed, workers
from ipa_planner_scene import NUMBERS, planned

FACES = endpoint("faces", linear("faces", 0.9, 0.01, 0.001))


@pytest.mark.parametrize("demand_qps", [(1e12, 1e-12), (1e-12, 1e12), (1e-25, 1e-12), (1e300, 1e300)])
def test_loads_beyond_all_reason_are_planned_for(demand_qps: tuple[float, float]) -> None:
    """SCIP refuses coefficients of 1e20 and more."""
    asked = dict(zip(("numbers", "faces"), demand_qps, strict=True))
    plan = planned(Cluster((NUMBERS, FACES), (Pool("cpu"),)), observed(asked, workers(cpu=6)))
    assert plan.demand_qps == asked
    assert all(0 < plan.served_qps[name] <= qps for name, qps in asked.items())


def test_loads_are_those_observed_from_the_least_to_far_beyond_what_can_be_borne() -> None:
    cluster = Cluster((endpoint("ten", even("ten", 0.9, 10.0)),), (Pool("cpu"),))
    observation = observed({}, workers(cpu=3))
    for qps, planned_qps in (
        (0.0, 0.0),
        (1e-12, LEAST_QPS),
        (5.0, 5.0),
        (1e4, 1e4),
        (1e12, MOST_TIMES * 30.0),
    ):
        (pipeline,) = problem_of(cluster, observation, {"ten": qps}, "rank").pipelines
        assert pipeline.load_qps == pytest.approx(planned_qps)


def test_shares_of_nothing_are_no_shares() -> None:
    """A pipeline of which no stage was counted to run any job bears no infinite load."""
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    observation = observed({"numbers": 20.0}, workers(cpu=4))
    shares = dict.fromkeys(("cut", "read", "sum"), 0.0)
    of_nothing, unknown = (
        planned(cluster, each) for each in (replace(observation, stage_shares={"numbers": shares}), observation)
    )
    assert of_nothing.capacity_qps == unknown.capacity_qps
    assert of_nothing.stages == unknown.stages

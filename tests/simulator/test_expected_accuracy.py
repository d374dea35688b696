"""What a table expects where latency is random, beside what the simulator shows."""

import numpy as np
import pytest

from dispatch.balancing.round_robin import RoundRobin
from dispatch.load.known import KnownLoad
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.solver import solve
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from simulator.host import Host
from simulator.latency import planned_latency

LOAD_QPS, SLO_S, MOST = 20.0, 0.5, 32


def _variant(name: str, accuracy: float, tail_s: float, tail_over_mean: float) -> Candidate:
    return Candidate(name, accuracy, (0.0, *MOST * (tail_s,)), (0.0, *MOST * (tail_s / tail_over_mean,)))


@pytest.mark.parametrize("tail_over_mean", [1.4, 1.63, 2.0])
def test_accuracy_is_not_above_where_a_long_run_leaves_the_next_query_no_time(tail_over_mean: float) -> None:
    variants = (_variant("slow", 0.756, 0.2323, tail_over_mean), _variant("fast", 0.45, 0.077, tail_over_mean))
    problem = WorkerProblem.of(variants, SLO_S, 1, Poisson(LOAD_QPS), late_share=0.05)
    table = solve(problem)
    selection = RamsisSelection({"cpu": TableGrid((table,), beyond_table(problem, 1))})
    stage = StagePlan({"cpu": variants}, selection, RoundRobin(), load=KnownLoad([0.0], [LOAD_QPS]))
    endpoint = EndpointPlan.of_stage("e", stage, slo_s=SLO_S, max_queued_rows=10**9)
    arrivals_s = np.cumsum(np.random.default_rng(1).exponential(1.0 / LOAD_QPS, 20_000))
    record = Host(Plan(1, {"e": endpoint}), {"w": "cpu"}, planned_latency(endpoint, 3)).run({"e": arrivals_s})
    in_time = record.done_s <= record.deadline_s
    seen = record.batches.accuracy[record.batch[in_time]].mean()
    assert seen - 0.005 <= table.expected_accuracy <= seen + 0.001
    assert 1.0 - in_time.mean() <= table.expected_violation_rate

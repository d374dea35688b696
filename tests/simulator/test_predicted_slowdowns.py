"""Neighbours in virtual time, with the latency estimates of a live router: who knows of them is in time at once."""

from collections.abc import Mapping

import numpy as np

from dispatch.balancing.round_robin import RoundRobin
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from interference_scene import PairLaw, on_nodes
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.node_interference import NodeInterference
from simulator.record import Record

SLO_S = 0.1
FAST, SLOW = Candidate("fast", 0.7, (0.0, 0.020)), Candidate("slow", 0.9, (0.0, 0.060))
ENDPOINT = EndpointPlan.of_stage(
    "e",
    StagePlan({"cpu": (FAST, SLOW)}, GreedySelection(), RoundRobin()),
    slo_s=SLO_S,
    drop_late=False,
    max_queued_rows=100,
)
TWICE = PairLaw({(one, other): 1.0 for one in ("fast", "slow") for other in ("fast", "slow")})
BESIDE = {worker: {"fast": 2.0, "slow": 2.0} for worker in ("w0", "w1")}


def play(slowdowns: Mapping[str, Mapping[str, float]], *counts: int) -> Record:
    """Two queries at once, ten times a second, for two workers on as many nodes as there are counts."""
    workers = on_nodes(*counts)
    host = Host(
        Plan(1, {"e": ENDPOINT}, slowdowns),
        {worker: info.device for worker, info in workers.items()},
        PlannedLatency(ENDPOINT),
        estimator=LatencyEstimator(0.0),
        nodes=NodeInterference(workers, TWICE),
    )
    return host.run({"e": np.repeat(np.arange(0.0, 60.0, 0.3), 2)})


def late(record: Record, queries: int) -> int:
    first = slice(0, queries)
    return int((record.done_s[first] > record.deadline_s[first]).sum())


def test_with_predicted_slowdowns_the_first_queries_are_in_time_and_without_they_are_not() -> None:
    assert late(play({}, 2), 4) > 0
    assert late(play(BESIDE, 2), 4) == 0


def test_who_is_alone_on_its_node_takes_the_more_accurate_variant() -> None:
    record = play({}, 1, 1)
    assert late(record, 20) == 0
    assert {record.batches.variants[number] for number in record.batches.variant[:20]} == {"slow"}


def test_a_wrong_prediction_is_measured_away() -> None:
    """Nobody disturbs these two, though the plan says so."""
    record = play(BESIDE, 1, 1)
    variants = [record.batches.variants[number] for number in record.batches.variant]
    assert set(variants[:4]) == {"fast"}
    assert set(variants[-20:]) == {"slow"}

"""Queries of different lengths in virtual time: deadlines hold with long ones mixed in."""

import numpy as np
import pytest
from length_scene import LONGEST, TYPICAL, endpoint

from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.selection.slack_fit import SlackFitSelection
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.padded_latency import PaddedLatency
from simulator.record import Record

ACCURATE = Candidate("accurate", 0.9, (0.0, *(0.002 + 0.004 * n for n in range(1, 17))))
FAST = Candidate("fast", 0.7, (0.0, *(0.001 + 0.001 * n for n in range(1, 17))))
SLO_S = 0.15
LONG_SHARE = 0.05
QUERIES = 6000


def drawn(rate_qps: float, seed: int) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    lengths = np.where(rng.random(QUERIES) < LONG_SHARE, LONGEST, rng.integers(4, TYPICAL, QUERIES))
    return np.cumsum(rng.exponential(1.0 / rate_qps, QUERIES)), lengths.tolist()


def played(own: EndpointPlan, rate_qps: float, *, measured: bool = True, seed: int = 3) -> tuple[Record, np.ndarray]:
    """The record, and the lengths of the queries."""
    plan = Plan(1, {"spans": own})
    latency = PaddedLatency(PlannedLatency(own), plan)
    estimator = LatencyEstimator(0.0) if measured else None
    arrivals_s, lengths = drawn(rate_qps, seed)
    record = Host(plan, {"w0": "cpu", "w1": "cpu"}, latency, estimator=estimator).run(
        {"spans": arrivals_s}, lengths=lengths
    )
    return record, np.array(lengths)


def late_share(record: Record) -> float:
    return float(np.mean(record.done_s > record.deadline_s))


@pytest.mark.parametrize("selection", [GreedySelection(), SlackFitSelection(), FixedSelection("fast")])
@pytest.mark.parametrize("measured", [False, True])
def test_deadlines_hold_with_long_queries_mixed_in(selection: SelectionPolicy, measured: bool) -> None:
    own = endpoint((ACCURATE, FAST), slo_s=SLO_S, selection=selection, balancing="central")
    record, lengths = played(own, 300.0, measured=measured)
    late = record.done_s > record.deadline_s
    assert late.mean() < 0.01
    assert late[lengths == LONGEST].mean() < 0.01


def test_without_buckets_the_same_load_is_not_borne() -> None:
    apart = endpoint((FAST,), slo_s=SLO_S, balancing="central")
    together = endpoint((FAST,), slo_s=SLO_S, balancing="central", share=1.0 - 1e-9)
    rate_qps = 1200.0
    assert late_share(played(apart, rate_qps)[0]) < 0.05
    assert late_share(played(together, rate_qps)[0]) > 0.2


def test_the_same_queries_give_the_same_record() -> None:
    own = [endpoint((ACCURATE, FAST), slo_s=SLO_S, balancing="central") for _ in range(2)]
    first, second = (played(each, 300.0)[0].done_s for each in own)
    assert np.array_equal(first, second)

"""Workers in virtual time whose latency changes: three variants, a policy that learns, and the figures of every
second."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dispatch.balancing.registry import create_balancer
from dispatch.balancing.round_robin import RoundRobin
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import Batch
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.table_plan import TableGroup
from simulator.host import Host
from simulator.latency import LatencyModel
from simulator.record import Record
from workload.rate import RateSchedule
from workload.renewal import Poisson

Floats = NDArray[np.float64]

SLO_S = 0.1
PATH_S = 0.005
LATE_AT_MOST = 0.01


def candidate(variant: str, accuracy: float, base_s: float, per_row_s: float, max_batch: int = 16) -> Candidate:
    """A variant whose batch of n rows runs for base + n * per_row, exactly."""
    runs_s = [base_s + per_row_s * rows for rows in range(1, max_batch + 1)]
    latency_s = (0.0, *(PATH_S + run_s for run_s in runs_s))
    return Candidate(variant, accuracy, latency_s, mean_s=latency_s, path_s=PATH_S)


FAST = candidate("fast", 0.80, 0.002, 0.0008)
MIDDLE = candidate("middle", 0.90, 0.004, 0.002)
SLOW = candidate("slow", 0.97, 0.012, 0.005)
OFFERED = (SLOW, MIDDLE, FAST)


class ProfiledRuns:
    """Runs as the candidates have them, and their way."""

    def __init__(self, offered: tuple[Candidate, ...] = OFFERED) -> None:
        self._offered = {c.variant: c for c in offered}

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        known = self._offered[batch.variant]
        return known.runs_s[batch.rows], known.path_s


@dataclass(frozen=True, eq=False)
class Played:
    """What came of a run, by the instant at which queries arrived, and what was learned."""

    record: Record
    estimator: LatencyEstimator
    host: Host

    def violation_rate(self, from_s: float, to_s: float) -> float:
        mine = (self.record.arrival_s >= from_s) & (self.record.arrival_s < to_s)
        return float((self.record.done_s > self.record.deadline_s + 1e-9)[mine].mean())

    def accuracy(self, from_s: float, to_s: float) -> float:
        """Of the answers in time."""
        record = self.record
        mine = (record.arrival_s >= from_s) & (record.arrival_s < to_s)
        mine &= record.done_s <= record.deadline_s + 1e-9
        return float(record.batches.accuracy[record.batch[mine]].mean())


def play(
    selection: SelectionPolicy,
    latency: LatencyModel,
    load_qps: float,
    duration_s: float,
    workers: int = 2,
    seed: int = 1,
) -> Played:
    """Poisson arrivals on so many workers, with an estimator that starts from twice the way there is."""
    estimator = LatencyEstimator(2 * PATH_S)
    balancer = create_balancer("round_robin")
    endpoint = EndpointPlan("digits", SLO_S, False, 10**9, {"cpu": OFFERED}, selection, balancer)
    if isinstance(selection, RamsisSelection) and isinstance(endpoint.balancer, RoundRobin):
        balancer = RoundRobin(TableGroup(selection, endpoint.load, estimator.typical))
        endpoint = EndpointPlan("digits", SLO_S, False, 10**9, {"cpu": OFFERED}, selection, balancer, endpoint.load)
    host = Host(Plan(1, {"digits": endpoint}), {f"w{i}": "cpu" for i in range(workers)}, latency, estimator=estimator)
    arrivals_s = Poisson(RateSchedule.constant(load_qps), seed).times_s(duration_s)
    return Played(host.run({"digits": arrivals_s}), estimator, host)

"""Response latency of a selection policy under a load, as an offline profiling step measures it."""

import sys
from dataclasses import dataclass

import numpy as np

from dispatch.load.known import KnownLoad
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.policy import Candidate, SelectionPolicy
from simulator.host import Host
from simulator.latency import planned_latency
from workload.rate import RateSchedule
from workload.renewal import Poisson

ENDPOINT, DEVICE = "profiled", "simulated"


@dataclass(frozen=True)
class ResponseProfiler:
    """Plays ``duration_s`` of Poisson arrivals, always of the same seed, at planned latencies, drawn where they vary.

    ``workers`` identical workers take batches from a central queue.
    """

    candidates: tuple[Candidate, ...]
    slo_s: float
    workers: int
    duration_s: float
    seed: int

    def p99_s(self, selection: SelectionPolicy, load_qps: float) -> float:
        """99th percentile of the time from arrival to result; 0 where no query arrives."""
        stage = StagePlan({DEVICE: self.candidates}, selection, balancer=None, load=KnownLoad([0.0], [load_qps]))
        plan = EndpointPlan.of_stage(ENDPOINT, stage, slo_s=self.slo_s, max_queued_rows=sys.maxsize)
        arrivals_s = Poisson(RateSchedule.constant(load_qps), self.seed).times_s(self.duration_s)
        workers = {f"w{number:04}": DEVICE for number in range(self.workers)}
        record = Host(Plan(1, {ENDPOINT: plan}), workers, planned_latency(plan, self.seed)).run({ENDPOINT: arrivals_s})
        response_s = record.done_s - record.arrival_s
        return float(np.percentile(response_s, 99)) if len(response_s) else 0.0

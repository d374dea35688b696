"""Plans by script for workers in virtual time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Observation, Statistics
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.loop.control_loop import ControlLoop
from dispatch.balancing.shortest_queue import ShortestQueue
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.control_path import ControlPath, ControlTimes
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.record import Record

FAST = Candidate("fast", 0.5, (0.0, 0.125))
GOOD = Candidate("good", 1.0, (0.0, 0.25))
TIMES = ControlTimes(report_s=1.0, solve_s=0.5, load_s=1.0)


def cluster_plan(**held: str) -> ClusterPlan:
    """Workers that hold one variant each."""
    report = SolveReport(Status.HEURISTIC, None, 0.0)
    return ClusterPlan(held={w: frozenset([v]) for w, v in held.items()}, report=report)


NO_ANSWER = NoPlan(SolveReport(Status.NO_ANSWER, None, 1.0))


@dataclass
class Scripted:
    """Plans in the order in which they are to be given; the last one for ever."""

    plans: list[ClusterPlan | NoPlan]
    name: str = "scripted"
    seen: list[Observation] = field(default_factory=list)

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        self.seen.append(observation)
        return self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]


@dataclass
class Recorded:
    """A demand estimate that keeps what it is told."""

    reports: list[Statistics] = field(default_factory=list)

    def on_statistics(self, statistics: Statistics) -> None:
        self.reports.append(statistics)

    def demand_qps(self) -> Mapping[str, float]:
        return {}


@dataclass
class Scene:
    """Endpoints on workers of one device type, planned for by script at intervals."""

    planner: Scripted
    initial: ClusterPlan
    interval_s: float = 2.0
    times: ControlTimes = TIMES
    slo_s: float = 10.0
    drop_late: bool = False
    max_queued_rows: int = 100
    endpoints: tuple[str, ...] = ("e",)
    own: Mapping[str, tuple[Candidate, ...]] = field(default_factory=dict)  # by endpoint, where not FAST and GOOD
    demand: Recorded = field(default_factory=Recorded)

    def serving(self, plan: ClusterPlan, version: int) -> Plan:
        endpoints = [
            EndpointPlan.of_stage(
                name,
                StagePlan({"cpu": self.own.get(name, (FAST, GOOD))}, GreedySelection(), ShortestQueue()),
                slo_s=self.slo_s,
                drop_late=self.drop_late,
                max_queued_rows=self.max_queued_rows,
            )
            for name in self.endpoints
        ]
        return Plan(version, {endpoint.name: endpoint for endpoint in endpoints})

    def play(self, workers: int = 1, **arrivals_s: list[float] | NDArray[np.float64]) -> tuple[Record, ControlPath]:
        names = {f"w{number}": "cpu" for number in range(workers)}
        loop = ControlLoop(self.interval_s, self.demand, None, self.initial)
        control = ControlPath(loop, self.planner, self.serving, names, self.times)
        host = Host(control.plan, names, PlannedLatency(*control.plan.endpoints.values()), control)
        return host.run({name: np.asarray(each, dtype=np.float64) for name, each in arrivals_s.items()}), control


def ran(record: Record) -> list[tuple[float, str]]:
    """Instant of launch and variant of every batch, in the order in which they were done."""
    batches = record.batches
    return [(at_s, batches.variants[v]) for at_s, v in zip(batches.launched_s, batches.variant, strict=True)]


def to_good(**changes: Any) -> Scene:
    return replace(Scene(Scripted([cluster_plan(w0="good")]), cluster_plan(w0="fast")), **changes)

"""The service that is scaled: one endpoint on a pool of workers that take a minute to start."""

from dataclasses import dataclass
from math import ceil

from autoscaler.cluster.capacity import capacity_of
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from dispatch.batching.nexus import EarlyDrop
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.policy import Candidate

ENDPOINT, DEVICE = "images", "vm"

SLO_S = 0.5
"""Cocktail's tightest objective is of this order (section 5)."""

VARIANT = Candidate("large", 1.0, (0.0, 0.11, 0.19, 0.27, 0.35))
"""A large image classifier on the cores of a small machine: seconds by rows of a batch."""

START_S = 60.0
"""From asking for a worker until it serves; Cocktail measures 60 to 100 s for a machine of a cloud (section 2)."""

INTERVAL_S = 10.0
"""Between two decisions."""

HORIZON_S = int(START_S + INTERVAL_S)
"""A worker that is asked for now is to serve until the next decision could have had one ready."""

SHRINK_AFTER_S = 60.0
"""See `autoscaler.loop.sizing.Sizing`."""

MAX_QUEUED_ROWS = 10**6
"""Nothing is refused before its deadline."""


def worker_qps() -> float:
    """What one worker can serve within the objective."""
    capacity = capacity_of(VARIANT, SLO_S)
    assert capacity is not None
    return capacity.qps


def serving_plan() -> Plan:
    """One central queue, and batches that give up who cannot be in time: what is violated is what there is no room for.

    A policy that serves everyone however late makes nearly all queries late as soon as there is a little too much.
    """
    endpoint = EndpointPlan.of_stage(
        ENDPOINT,
        StagePlan({DEVICE: (VARIANT,)}, EarlyDrop(), None),
        slo_s=SLO_S,
        drop_late=True,
        max_queued_rows=MAX_QUEUED_ROWS,
    )
    return Plan(1, {ENDPOINT: endpoint})


@dataclass(frozen=True)
class HeadroomPlanner:
    """As many workers as serve ``headroom`` times the demand, and at least one."""

    headroom: float
    name: str = "headroom"

    def plan(self, observation: Observation) -> ClusterPlan:
        """See `autoscaler.planners.planner.Planner`."""
        return self.sized(observation.demand_qps.get(ENDPOINT, 0.0))

    def sized(self, demand_qps: float) -> ClusterPlan:
        """The plan for a demand."""
        workers = max(1, ceil(self.headroom * demand_qps / worker_qps()))
        served = {ENDPOINT: demand_qps}
        report = SolveReport(Status.HEURISTIC, None, 0.0)
        return ClusterPlan(
            demand_qps=served, served_qps=served, capacity_qps=served, pool_sizes={DEVICE: workers}, report=report
        )

"""From the planner's plan to what the dispatcher serves."""

from collections.abc import Mapping

from autoscaler.capacity import limited
from autoscaler.cluster import Cluster
from autoscaler.cluster_plan import ClusterPlan
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.policy import Candidate, SelectionPolicy


def serving_plan(
    cluster: Cluster,
    plan: ClusterPlan,
    workers: Mapping[str, str],
    version: int,
    batching: SelectionPolicy,
    *,
    drop_late: bool,
    max_queued_rows: int,
) -> Plan:
    """Every endpoint with the batches that its objective allows, and its shares of the workers.

    ``workers`` maps worker id to device type. Workers of one type that hold the same are alike to a query: its share
    says which kind it goes to, and of those it goes to the one with the least to do.
    """
    kinds = {
        worker: f"{workers.get(worker, worker.rpartition('+')[0])}:{','.join(sorted(held))}"
        for worker, held in plan.held.items()
    }
    return Plan(
        version,
        {
            endpoint.name: EndpointPlan(
                endpoint.name,
                endpoint.slo_s,
                drop_late,
                max_queued_rows,
                {device: _in_time(candidates, endpoint.slo_s) for device, candidates in endpoint.candidates.items()},
                batching,
                WeightedShares(plan.shares.get(endpoint.name, {}), kinds),
            )
            for endpoint in cluster.endpoints
        },
    )


def _in_time(candidates: tuple[Candidate, ...], slo_s: float) -> tuple[Candidate, ...]:
    return tuple(cut for candidate in candidates if (cut := limited(candidate, slo_s)) is not None)

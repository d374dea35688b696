"""From the planner's plan to what the dispatcher serves."""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.cluster.capacity import WAITS, limited
from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.plan import ClusterPlan
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.policy import Candidate, SelectionPolicy


@dataclass(frozen=True)
class Service:
    """How one endpoint is served under a plan: ``candidates`` by device type, with no larger batches than are in time.

    ``shares`` are by worker; workers of one of ``kinds`` hold the same and are alike to a query.
    """

    candidates: Mapping[str, tuple[Candidate, ...]]
    shares: Mapping[str, float]
    kinds: Mapping[str, str]


def services(cluster: Cluster, plan: ClusterPlan, workers: Mapping[str, str]) -> dict[str, Service]:
    """Every endpoint with the batches that its objective allows, and its shares of the workers.

    ``workers`` maps worker id to device type. Workers of one type that hold the same are alike to a query: its share
    says which kind it goes to, and of those it goes to the one with the least to do. On a device type where endpoints
    share workers, their batches leave room for each other's.
    """
    shared = _shared(cluster, plan, workers)
    kinds = {
        worker: f"{workers.get(worker, worker.rpartition('+')[0])}:{','.join(sorted(held))}"
        for worker, held in plan.held.items()
    }
    return {
        endpoint.name: Service(
            {
                device: _in_time(candidates, *shared.get((device, endpoint.name), (endpoint.slo_s, WAITS)))
                for device, candidates in endpoint.candidates.items()
            },
            plan.shares.get(endpoint.name, {}),
            kinds,
        )
        for endpoint in cluster.endpoints
    }


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
    """What one dispatcher of all workers serves under a plan: see `services`."""
    objectives_s = {endpoint.name: endpoint.slo_s for endpoint in cluster.endpoints}
    return Plan(
        version,
        {
            name: EndpointPlan(
                name,
                objectives_s[name],
                drop_late,
                max_queued_rows,
                service.candidates,
                batching,
                WeightedShares(service.shares, service.kinds),
            )
            for name, service in services(cluster, plan, workers).items()
        },
    )


def _shared(
    cluster: Cluster, plan: ClusterPlan, workers: Mapping[str, str]
) -> dict[tuple[str, str], tuple[float, int]]:
    """By device type and endpoint that share workers: their shortest objective, and how many batches it is for."""
    slo_s = {endpoint.name: endpoint.slo_s for endpoint in cluster.endpoints}
    found: dict[tuple[str, str], tuple[float, int]] = {}
    for worker, held in plan.held.items():
        users = [name for name, shares in plan.shares.items() if worker in shares]
        if len(held) > 1:
            for name in users:
                key = (workers.get(worker, ""), name)
                shortest_s, waits = found.get(key, (slo_s[name], WAITS))
                found[key] = (min(shortest_s, *(slo_s[user] for user in users)), max(waits, WAITS + len(held) - 1))
    return found


def _in_time(candidates: tuple[Candidate, ...], slo_s: float, waits: int) -> tuple[Candidate, ...]:
    return tuple(cut for candidate in candidates if (cut := limited(candidate, slo_s, waits=waits)) is not None)

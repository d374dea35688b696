"""What planners without a program need to know: what every worker could serve, and what it does serve."""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.cluster.capacity import capacity_of
from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status


@dataclass(frozen=True)
class Option:
    """A variant that a worker could hold for an endpoint, with its capacity there."""

    endpoint: str
    variant: str
    accuracy: float
    qps: float


def options_of(cluster: Cluster) -> dict[tuple[str, str], tuple[Option, ...]]:
    """By device type and endpoint the variants in time there, most accurate first."""
    found = {}
    for pool in cluster.pools:
        for endpoint in cluster.endpoints:
            options = [
                Option(endpoint.name, candidate.variant, candidate.accuracy, capacity.qps)
                for candidate in endpoint.candidates.get(pool.device, ())
                if cluster.memory_bytes.get(candidate.variant, 0) <= pool.memory_bytes
                and (capacity := capacity_of(candidate, endpoint.slo_s)) is not None
            ]
            found[pool.device, endpoint.name] = tuple(sorted(options, key=lambda o: (-o.accuracy, -o.qps, o.variant)))
    return found


def proportional(demand_qps: Mapping[str, float], chosen: Mapping[str, Option]) -> dict[str, dict[str, float]]:
    """Shares as the workers' capacities are, with what is too much for all of them shed."""
    capacity_qps = _capacity_qps(demand_qps, chosen)
    shares: dict[str, dict[str, float]] = {name: {} for name in demand_qps}
    for worker, option in sorted(chosen.items()):
        if demand_qps[option.endpoint] > 0:
            most_qps = max(capacity_qps[option.endpoint], demand_qps[option.endpoint])
            shares[option.endpoint][worker] = option.qps / most_qps
    return shares


def plan_of(
    observation: Observation,
    demand_qps: Mapping[str, float],
    chosen: Mapping[str, Option],
    shares: Mapping[str, Mapping[str, float]],
    explanation: str,
) -> ClusterPlan:
    """Each worker holds its option, and serves what it can of its share."""
    served_qps = dict.fromkeys(demand_qps, 0.0)
    summed = dict.fromkeys(demand_qps, 0.0)
    for name, parts in shares.items():
        for worker, share in parts.items():
            qps = min(share * demand_qps[name], chosen[worker].qps)
            served_qps[name] += qps
            summed[name] += qps * chosen[worker].accuracy
    there = list(observation.devices.values())
    return ClusterPlan(
        held={worker: frozenset((option.variant,)) for worker, option in chosen.items()},
        shares=shares,
        demand_qps=dict(demand_qps),
        served_qps=served_qps,
        capacity_qps=_capacity_qps(demand_qps, chosen),
        accuracy={name: summed[name] / qps for name, qps in served_qps.items() if qps > 0},
        pool_sizes={device: there.count(device) for device in sorted(set(there))},
        report=SolveReport(Status.HEURISTIC, None, 0.0, (explanation,)),
    )


def _capacity_qps(demand_qps: Mapping[str, float], chosen: Mapping[str, Option]) -> dict[str, float]:
    return {name: sum(o.qps for o in chosen.values() if o.endpoint == name) for name in demand_qps}

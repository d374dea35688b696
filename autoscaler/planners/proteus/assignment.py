"""From workers per column to a plan that names every worker."""

from collections.abc import Mapping
from itertools import count, islice

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, SolveReport
from autoscaler.placement.transition.expansion import Held, expand
from autoscaler.planners.proteus.column import Column
from autoscaler.planners.proteus.placement_model import UseKey

NOTHING: Held = frozenset()


def assign(
    cluster: Cluster,
    observation: Observation,
    demand_qps: Mapping[str, float],
    counts: Mapping[Column, int],
    loads: Mapping[UseKey, float],
    capacity_qps: Mapping[str, float],
    report: SolveReport,
) -> ClusterPlan:
    """Name the workers of every column, with as little to load as possible, and split its load evenly among them.

    ``loads`` are queries per second of ``demand_qps``. Workers that no column needs keep what they hold of the
    cluster's variants, without a share; those of a pool whose size is free are not part of it any more. Workers of no
    pool are left out.
    """
    held: dict[str, Held] = {}
    members: dict[Column, list[str]] = {}
    sizes: dict[str, int] = {}
    known = cluster.variants
    for pool in cluster.pools:
        columns = [column for column, n in counts.items() if n and column.device == pool.device]
        wanted = dict.fromkeys((column.variants for column in columns), 0)
        for column in columns:
            wanted[column.variants] += counts[column]
        there = {
            worker: observation.held.get(worker, NOTHING) & known
            for worker, device in observation.devices.items()
            if device == pool.device
        }
        more = sum(wanted.values()) - len(there)
        new = (name for number in count(1) if (name := f"{pool.device}+{number}") not in observation.devices)
        there |= dict.fromkeys(islice(new, max(more, 0)), NOTHING)
        given = expand(wanted, there, cluster.memory_bytes)
        ready: dict[Held, list[str]] = {}
        for worker in sorted(given, reverse=True):
            ready.setdefault(given[worker], []).append(worker)
        for column in columns:  # of the same variants there may be several: two that serve each other's endpoints
            members[column] = [ready[column.variants].pop() for _ in range(counts[column])]
        if pool.max_workers is None:
            given = {worker: variants for worker, variants in there.items() if variants} | given
        held |= given
        sizes[pool.device] = len(given) if pool.max_workers is not None else len(there)
    shares: dict[str, dict[str, float]] = {name: {} for name in demand_qps}
    served_qps = dict.fromkeys(demand_qps, 0.0)
    summed = dict.fromkeys(demand_qps, 0.0)
    for (column, use), qps in loads.items():
        workers = members.get(column, ())
        for worker in workers:
            of_endpoint = shares[use.endpoint]
            share = qps / len(workers) / demand_qps[use.endpoint]
            of_endpoint[worker] = of_endpoint.get(worker, 0.0) + share
        served_qps[use.endpoint] += qps
        summed[use.endpoint] += qps * use.accuracy
    accuracy = {name: summed[name] / qps for name, qps in served_qps.items() if qps > 0}
    return ClusterPlan(
        held=held,
        shares=shares,
        demand_qps=dict(demand_qps),
        served_qps=served_qps,
        capacity_qps=dict(capacity_qps),
        accuracy=accuracy,
        pool_sizes=sizes,
        report=report,
    )

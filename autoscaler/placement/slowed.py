"""Clusters whose variants take longer, as they do beside neighbours."""

from collections.abc import Mapping
from dataclasses import replace
from operator import add

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.plan import ClusterPlan
from dispatch.selection.policy import Candidate

Factors = Mapping[tuple[str, str], float]
"""By device type and variant, how many times longer than alone a run takes; 1 where nothing is said."""

ByDevice = Mapping[str, tuple[Candidate, ...]]


def slowed(cluster: Cluster, factors: Factors) -> Cluster:
    """The cluster with these factors on its candidates' runs; the way to the worker and back is as long as before.

    A candidate with members takes as much longer as the slowest of them.
    """
    if all(factor == 1.0 for factor in factors.values()):
        return cluster
    return replace(
        cluster,
        endpoints=tuple(
            replace(
                endpoint,
                candidates=_slowed(endpoint.candidates, factors),
                stages=tuple(
                    replace(stage, candidates=_slowed(stage.candidates, factors)) for stage in endpoint.stages
                ),
            )
            for endpoint in cluster.endpoints
        ),
    )


def largest_factors(slowdowns: Mapping[str, Mapping[str, float]], devices: Mapping[str, str]) -> Factors:
    """From slowdowns by worker and variant the largest of each device type.

    Planners take the workers of one type to be alike, and give them batches that are in time on each. A mean would
    give the workers beside the worst neighbours batches that are late there; the largest gives the others smaller ones
    than they could run. The first is a violation, the second some capacity.
    """
    found: dict[tuple[str, str], float] = {}
    for worker, own in slowdowns.items():
        if worker in devices:
            for variant, factor in own.items():
                key = (devices[worker], variant)
                found[key] = max(found.get(key, 1.0), factor)
    return found


def running_slowdowns(plan: ClusterPlan) -> Mapping[str, Mapping[str, float]]:
    """The plan's slowdowns of workers that get queries, by worker and variant: all where endpoints see to that."""
    if plan.own_balancing or not plan.shares:
        return plan.slowdowns
    asked = {worker for shares in plan.shares.values() for worker, share in shares.items() if share > 0}
    return {worker: own for worker, own in plan.slowdowns.items() if worker in asked}


def _slowed(candidates: ByDevice, factors: Factors) -> ByDevice:
    return {
        device: tuple(slower(each, max(factors.get((device, variant), 1.0) for variant in each.needs)) for each in own)
        for device, own in candidates.items()
    }


def slower(candidate: Candidate, factor: float) -> Candidate:
    """The candidate with runs of so many times their length."""
    if factor == 1.0:
        return candidate

    def longer(times_s: tuple[float, ...]) -> tuple[float, ...]:
        path_s = candidate.path_s
        return times_s[:1] + tuple(path_s + (time_s - path_s) * factor for time_s in times_s[1:])

    latency_s = longer(candidate.latency_s)
    added = [longer_s - before_s for longer_s, before_s in zip(latency_s, candidate.latency_s, strict=True)]
    return replace(
        candidate,
        latency_s=latency_s,
        mean_s=longer(candidate.mean_s),
        result_s=longer(candidate.result_s),
        follow_s=tuple(map(add, candidate.follow_s, added)),
    )

"""Clusters with less to choose from, for systems that scale less than everything."""

from collections.abc import Callable
from dataclasses import replace

from autoscaler.cluster.capacity import capacity_of
from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from dispatch.selection.policy import Candidate


def most_accurate(cluster: Cluster) -> Cluster:
    """Each endpoint has its most accurate variant only, of those that fit and are in time on some device."""
    return _only(cluster, max)


def least_accurate(cluster: Cluster) -> Cluster:
    """Each endpoint has its least accurate variant only, of those that fit and are in time on some device."""
    return _only(cluster, min)


def most_accurate_by_device(cluster: Cluster) -> Cluster:
    """Each endpoint has on each device type the most accurate variant that fits and is in time there."""
    return _each_only(cluster, max)


def least_accurate_by_device(cluster: Cluster) -> Cluster:
    """Each endpoint has on each device type the least accurate variant that fits and is in time there."""
    return _each_only(cluster, min)


def one_row(cluster: Cluster) -> Cluster:
    """Every batch is one query."""

    def alone(endpoint: Endpoint) -> Endpoint:
        cut = {
            device: tuple(_cut(candidate) for candidate in candidates)
            for device, candidates in endpoint.candidates.items()
        }
        return replace(endpoint, candidates=cut)

    return replace(cluster, endpoints=tuple(map(alone, cluster.endpoints)))


def _cut(candidate: Candidate) -> Candidate:
    """The candidate up to one row."""
    return replace(
        candidate,
        latency_s=candidate.latency_s[:2],
        mean_s=candidate.mean_s[:2],
        follow_s=candidate.follow_s[:2],
        result_s=candidate.result_s[:2],
    )


def _only(cluster: Cluster, choose: Callable[[list[float]], float]) -> Cluster:
    endpoints = []
    for endpoint in cluster.endpoints:
        accuracies = [each.accuracy for pool in cluster.pools for each in _in_time(cluster, endpoint, pool)]
        wanted = choose(accuracies) if accuracies else 0.0
        kept = {
            device: tuple(candidate for candidate in candidates if candidate.accuracy == wanted)
            for device, candidates in endpoint.candidates.items()
        }
        endpoints.append(replace(endpoint, candidates=kept))
    return replace(cluster, endpoints=tuple(endpoints))


def _each_only(cluster: Cluster, choose: Callable[[list[float]], float]) -> Cluster:
    endpoints = []
    for endpoint in cluster.endpoints:
        kept: dict[str, tuple[Candidate, ...]] = {}
        for pool in cluster.pools:
            own = _in_time(cluster, endpoint, pool)
            wanted = choose([each.accuracy for each in own]) if own else 0.0
            kept[pool.device] = tuple(each for each in own if each.accuracy == wanted)
        endpoints.append(replace(endpoint, candidates=kept))
    return replace(cluster, endpoints=tuple(endpoints))


def _in_time(cluster: Cluster, endpoint: Endpoint, pool: Pool) -> list[Candidate]:
    return [
        candidate
        for candidate in endpoint.candidates.get(pool.device, ())
        if cluster.memory_bytes.get(candidate.variant, 0) <= pool.memory_bytes
        and capacity_of(candidate, endpoint.slo_s) is not None
    ]

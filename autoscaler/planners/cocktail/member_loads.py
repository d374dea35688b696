"""What the members of ensembles are asked, and what workers can bear of it."""

from collections.abc import Mapping

from autoscaler.cluster.capacity import ALONE, capacity_of
from autoscaler.cluster.cluster import Cluster


def member_loads_qps(
    cluster: Cluster, demand_qps: Mapping[str, float], stage_shares: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """By variant, over all endpoints: the load of each times the share of its queries that runs the variant.

    Cocktail, Algorithm 2 (line 11) with the whole of the predicted load instead of its growth, so that members that
    are asked less often give their workers back. Where no shares are known, every query runs every variant: the full
    list that the selection begins with (section 4.1).
    """
    loads: dict[str, float] = {}
    for endpoint in cluster.endpoints:
        shares = stage_shares.get(endpoint.name)
        for variant in dict.fromkeys(c.variant for own in endpoint.candidates.values() for c in own):
            share = 1.0 if shares is None else shares.get(variant, 0.0)
            loads[variant] = loads.get(variant, 0.0) + demand_qps[endpoint.name] * share
    return loads


def capacities_qps(cluster: Cluster) -> dict[tuple[str, str], float]:
    """By device type and variant what one worker bears in full batches; without what does not fit or is never in time.

    A full batch is the packing factor P_f of the paper (section 2.3.2). Where endpoints share a variant, the shortest
    objective counts.
    """
    found: dict[tuple[str, str], float] = {}
    for endpoint in cluster.endpoints:
        for pool in cluster.pools:
            for candidate in endpoint.candidates.get(pool.device, ()):
                capacity = capacity_of(candidate, endpoint.slo_s, waits=ALONE)
                if capacity is None or cluster.memory_bytes.get(candidate.variant, 0) > pool.memory_bytes:
                    continue
                key = (pool.device, candidate.variant)
                found[key] = min(capacity.qps, found.get(key, capacity.qps))
    return found

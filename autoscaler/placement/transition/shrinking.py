"""Plans under which it does not matter which workers of a pool go."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf

from autoscaler.cluster.plan import ClusterPlan


def ready_to_shrink(
    plan: ClusterPlan, workers: Collection[str], memory_bytes: Mapping[str, int], limit_bytes: float = inf
) -> ClusterPlan:
    """The plan, made for some of a pool's ``workers``, with all of them holding everything that any of these holds.

    Serve chooses which replicas it stops, and whichever are left can answer then what the plan is for. Each worker has
    the same part of the pool's shares. Where one worker's memory does not take everything, the plan is as it was. What
    workers had as fallback makes room.
    """
    everything = frozenset(variant for worker in workers for variant in plan.held.get(worker, ()))
    if sum(memory_bytes.get(variant, 0) for variant in everything) > limit_bytes or not everything:
        return plan
    shares = {}
    for name, own in plan.shares.items():
        of_pool = sum(own.get(worker, 0.0) for worker in workers)
        others = {worker: share for worker, share in own.items() if worker not in workers}
        shares[name] = others | (dict.fromkeys(workers, of_pool / len(workers)) if of_pool else {})
    fallback = {worker: variants for worker, variants in plan.fallback.items() if worker not in workers}
    return replace(plan, held={**plan.held, **dict.fromkeys(workers, everything)}, shares=shares, fallback=fallback)

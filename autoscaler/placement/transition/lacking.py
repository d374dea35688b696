"""A plan for workers of which some cannot load all that they are to hold."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.standing import WorkerVariant

Held = frozenset[str]
"""What a worker holds, or is to hold."""


def without(
    plan: ClusterPlan, unloadable: Collection[WorkerVariant], holds: Mapping[str, Held], pools: Mapping[str, str]
) -> ClusterPlan:
    """The plan without what single workers cannot load, where it does not count on them for it.

    That is so where another worker of the pool is to hold the variant and ``holds`` it already, no share of any
    endpoint's queries is the worker's, and no endpoint has its ``own_balancing``, whose plans count workers. A worker
    that can load nothing has no place in the plan. All else stays, for the planner to do without. ``pools`` is by
    worker; fallback variants that a worker cannot load are left out in any case.
    """
    held, fallback = dict(plan.held), dict(plan.fallback)
    sharing = {worker for own in plan.shares.values() for worker, share in own.items() if share > 0.0}
    for worker, variant in sorted(unloadable):
        wanted = held.get(worker, frozenset())
        free = variant in wanted and worker in pools and worker not in sharing and not plan.own_balancing
        if free and held_elsewhere(plan, worker, variant, holds, pools):
            held[worker] = wanted - {variant}
        fallback[worker] = tuple(each for each in fallback.get(worker, ()) if each != variant)
    empty = {worker for worker, own in held.items() if not own and plan.held[worker]}
    return replace(
        plan,
        held={worker: own for worker, own in held.items() if worker not in empty},
        fallback={worker: own for worker, own in fallback.items() if own and worker not in empty},
    )


def held_elsewhere(
    plan: ClusterPlan, worker: str, variant: str, holds: Mapping[str, Held], pools: Mapping[str, str]
) -> bool:
    """Whether another worker of its pool holds the variant, and is to hold it by the plan, be it as fallback."""
    return any(
        variant in own & (plan.held.get(other, frozenset()) | plan.beside(other))
        and pools.get(other) == pools.get(worker)
        for other, own in holds.items()
        if other != worker
    )

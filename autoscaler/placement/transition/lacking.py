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
    """The plan without what single workers cannot load, where queries do not depend on them for it.

    That is so where another worker of the pool is to hold the variant and ``holds`` it already, the worker keeps
    another variant, and no share of any endpoint's queries is the worker's. All else stays, for the planner to do
    without. ``pools`` is by worker; fallback variants that a worker cannot load are left out in any case.
    """
    held = dict(plan.held)
    sharing = {worker for own in plan.shares.values() for worker, share in own.items() if share > 0.0}
    for worker, variant in sorted(unloadable):
        kept = held.get(worker, frozenset()) - {variant}
        if kept and worker in pools and worker not in sharing and held_elsewhere(plan, worker, variant, holds, pools):
            held[worker] = kept
    fallback = {
        worker: tuple(variant for variant in own if (worker, variant) not in unloadable)
        for worker, own in plan.fallback.items()
    }
    return replace(plan, held=held, fallback=fallback)


def held_elsewhere(
    plan: ClusterPlan, worker: str, variant: str, holds: Mapping[str, Held], pools: Mapping[str, str]
) -> bool:
    """Whether another worker of its pool holds the variant, and is to hold it by the plan, be it as fallback."""
    return any(
        variant in own & (plan.held.get(other, frozenset()) | plan.beside(other)) and pools[other] == pools[worker]
        for other, own in holds.items()
        if other != worker
    )

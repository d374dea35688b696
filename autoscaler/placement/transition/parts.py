"""What of a change of plans does not depend on the rest of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.transition.rollout import Held

NONE: Held = frozenset()


@dataclass(frozen=True)
class Part:
    """Endpoints, and all workers that hold or are to hold something for one of them."""

    endpoints: frozenset[str]
    workers: frozenset[str]


def parts_of(plan: ClusterPlan, holds: Mapping[str, Held], uses: Mapping[str, Collection[str]]) -> tuple[Part, ...]:
    """The smallest parts without a worker in common, before the change as after it; those without workers are left out.

    ``holds`` has what the workers that are there hold, and ``uses`` by endpoint the variants that may serve it, under
    either plan.
    """
    parts: list[Part] = []
    for endpoint, variants in uses.items():
        wanted = frozenset(variants)
        workers = frozenset(
            worker
            for worker, held in holds.items()
            if wanted & (held | plan.held.get(worker, NONE) | plan.beside(worker))
        )
        if workers:
            linked = [part for part in parts if part.workers & workers]
            parts = [part for part in parts if part not in linked]
            parts.append(
                Part(
                    frozenset([endpoint]).union(*(part.endpoints for part in linked)),
                    workers.union(*(part.workers for part in linked)),
                )
            )
    return tuple(parts)

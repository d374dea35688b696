"""Where variants stand under a plan: beside which others of their node."""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.interference import Interference
from autoscaler.placement.nodes import NodeSlowdowns, Occupant, Occupied, Variants, shared_nodes
from dispatch.worker_info import WorkerInfo

NOTHING: Variants = frozenset()

WorkerVariant = tuple[str, str]


@dataclass(frozen=True)
class Standing:
    """A variant on a worker, and what each of the other workers of its node runs, of those that run something.

    ``device`` is the worker's type as planners know it. ``predicted`` is the slowdown there without any correction by
    measurements, ``reckoned`` what the plan says.
    """

    device: str
    node: str
    machine: str
    variant: str
    neighbours: tuple[Variants, ...]
    predicted: float
    reckoned: float

    @property
    def beside(self) -> tuple[str, ...] | None:
        """What runs beside it, in the order of the names, as often as it stands there.

        None where some neighbour runs several variants, so that nobody can tell which of them ran at an instant.
        """
        if any(len(own) > 1 for own in self.neighbours):
            return None
        return tuple(sorted(variant for own in self.neighbours for variant in own))


def runs(plan: ClusterPlan, worker: str) -> Variants:
    """What a worker runs of what it holds: all where endpoints balance for themselves, else all or nothing by share."""
    held = plan.held.get(worker, NOTHING)
    if not plan.shares or plan.own_balancing or worker in plan.spare:
        return held
    return held if any(shares.get(worker, 0.0) > 0 for shares in plan.shares.values()) else NOTHING


def standings_of(
    plan: ClusterPlan, workers: Mapping[str, WorkerInfo], predicted: Interference
) -> dict[WorkerVariant, Standing]:
    """By worker and variant that it holds, fallback variants too; whoever has no neighbour that runs something is left
    out. Neighbours are reckoned with what the plan has them run, and not with their fallback variants.

    The interference is asked as `NodeSlowdowns` does.
    """
    nodes = shared_nodes(workers)
    occupied = [
        Occupied(
            node.machine,
            tuple(Occupant(plan.held.get(w, NOTHING) | plan.beside(w), runs(plan, w)) for w in node.workers),
        )
        for node in nodes
    ]
    found = {}
    for node, there, slowdowns in zip(nodes, occupied, NodeSlowdowns(predicted).of(occupied), strict=True):
        for number, (worker, own) in enumerate(zip(node.workers, slowdowns, strict=True)):
            others = (*there.occupants[:number], *there.occupants[number + 1 :])
            neighbours = tuple(other.runs for other in others if other.runs)
            for variant, slowdown in own.items() if neighbours else ():
                reckoned = plan.slowdowns.get(worker, {}).get(variant, slowdown)
                found[worker, variant] = Standing(
                    device=workers[worker].pool or workers[worker].device,
                    node=node.name,
                    machine=node.machine,
                    variant=variant,
                    neighbours=neighbours,
                    predicted=slowdown,
                    reckoned=reckoned,
                )
    return found

"""Workers without which the others of their node bear more."""

from collections.abc import Collection, Sequence

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.nodes import Node, NodeSlowdowns, Occupied
from autoscaler.planners.neighbours.roles import Role, Roles

LEAST_GAIN = 0.02
"""Relative to what the workers of the node bear."""


def workers_to_idle(
    nodes: Sequence[Node], roles: Roles, plan: ClusterPlan, slowdowns: NodeSlowdowns, free: Collection[str]
) -> tuple[str, ...]:
    """The ``free`` workers that harm their neighbours by more than they bear, one after the other on each node.

    What a node bears is the sum over its workers of what each serves in the plan if nothing slows it down, over its
    slowdown. Sorted; nothing where every node bears the most with all.
    """
    found = []
    for node in nodes:
        left = [worker for worker in node.workers if worker in roles.of and roles.of[worker].busy]
        while len(left) > 1:
            sets = [left, *([each for each in left if each != worker] for worker in left)]
            borne = _borne(node, sets, roles, plan, slowdowns)
            tried = [number for number, worker in enumerate(left, start=1) if worker in free]
            best = max(tried, key=lambda number: borne[number], default=0)
            if not best or borne[best] <= borne[0] * (1 + LEAST_GAIN):
                break
            found.append(left.pop(best - 1))
    return tuple(sorted(found))


def _borne(
    node: Node, sets: Sequence[Sequence[str]], roles: Roles, plan: ClusterPlan, slowdowns: NodeSlowdowns
) -> list[float]:
    """What each set of workers bears if no others run."""
    occupied = [Occupied(node.machine, tuple(roles.occupant(worker) for worker in each)) for each in sets]
    return [
        sum(_serves(roles.of[worker], plan) / max(own.values()) for worker, own in zip(each, found, strict=True))
        for each, found in zip(sets, slowdowns.of(occupied), strict=True)
    ]


def _serves(role: Role, plan: ClusterPlan) -> float:
    """Queries per second of a worker that is never idle; 1 where there are no shares to tell by."""
    qps = sum(share * plan.demand_qps[name] for name, share in role.shares)
    return qps / role.busy if qps else 1.0

"""What a plan wants of a worker, apart from which worker it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.nodes import Occupant, Variants
from autoscaler.planners.neighbours.honest import Reckoning

NOTHING: Variants = frozenset()


@dataclass(frozen=True)
class Role:
    """What a worker is to hold, its share of each endpoint's queries, and how busy it is with them if alone (0 to 1).

    `IDLE` is to do nothing, and keep what the worker holds of the cluster's variants.
    """

    holds: Variants
    shares: tuple[tuple[str, float], ...] = ()
    busy: float = 0.0


IDLE = Role(NOTHING)


@dataclass(frozen=True)
class Roles:
    """The role of each worker that may change it for another's of its device type.

    ``held`` is what workers hold now. Not among them are workers that a plan wants and that are not there yet, those
    that it can spare, and those of a pool whose size is free that it does not want.
    """

    of: Mapping[str, Role]
    devices: Mapping[str, str]
    held: Mapping[str, Variants] = field(default_factory=dict)

    def occupant(self, worker: str, role: Role | None = None) -> Occupant:
        """The worker of a node as it would be in a role, its own one unless another is given."""
        own = self.of.get(worker, IDLE) if role is None else role
        holds = self.held.get(worker, NOTHING) if own == IDLE else own.holds
        return Occupant(holds, holds if own.busy else NOTHING)


def roles_of(cluster: Cluster, observation: Observation, plan: ClusterPlan) -> Roles:
    """The roles of a plan.

    Where endpoints balance their queries themselves any worker may run what it holds, and is taken to be busy.
    """
    fixed = {pool.device for pool in cluster.pools if pool.max_workers is None}
    by_shares = bool(plan.shares) and not plan.own_balancing
    reckoning = Reckoning(cluster, observation.devices)
    found = {}
    for worker, device in sorted(observation.devices.items()):
        if worker in plan.spare or (worker not in plan.held and device not in fixed):
            continue
        holds = plan.held.get(worker, NOTHING)
        if not by_shares:
            found[worker] = Role(holds, busy=1.0) if holds else IDLE
            continue
        shares = tuple((name, own[worker]) for name, own in sorted(plan.shares.items()) if own.get(worker, 0.0) > 0)
        busy = min(reckoning.busy(worker, plan, {}, plan.demand_qps), 1.0)
        kept = not busy and holds in (NOTHING, observation.held.get(worker, NOTHING))
        found[worker] = IDLE if kept else Role(holds, shares, busy)
    return Roles(found, {worker: observation.devices[worker] for worker in found}, observation.held)


def with_roles(plan: ClusterPlan, roles: Roles) -> ClusterPlan:
    """The plan with every worker in its role; workers without one stay as they are in the plan."""
    held = {worker: variants for worker, variants in plan.held.items() if worker not in roles.of}
    shares = {
        name: {worker: share for worker, share in own.items() if worker not in roles.of}
        for name, own in plan.shares.items()
    }
    beside = {
        (roles.devices[worker], plan.held[worker]): own for worker, own in plan.fallback.items() if worker in roles.of
    }
    fallback = {worker: own for worker, own in plan.fallback.items() if worker not in roles.of}
    for worker, role in roles.of.items():
        holds = roles.occupant(worker).holds
        if holds:
            held[worker] = holds
        if (role.shares or role.busy) and (own := beside.get((roles.devices[worker], holds))):
            fallback[worker] = own
        for name, share in role.shares:
            shares[name][worker] = share
    return replace(plan, held=held, shares=shares, fallback=fallback)

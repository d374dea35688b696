"""Plans whose sets of variants go to the least loaded node."""

from dataclasses import dataclass, replace

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.placement.baselines import least_loaded
from autoscaler.placement.machine import Machine
from autoscaler.planners.neighbours.roles import Roles, roles_of, with_roles
from autoscaler.planners.planner import Planner


@dataclass(frozen=True)
class LeastLoaded:
    """Another planner's plan; what its workers are to hold is placed on the node with the lowest utilisation.

    The baseline of Mendoza et al. (section 1): device type by device type, in the order of the variants' names,
    indifferent to who runs beside whom. Of a node's workers the one takes a set that has to load the least for it.
    """

    planner: Planner
    cluster: Cluster

    @property
    def name(self) -> str:
        """Of the planner, and what it does with its plans."""
        return f"{self.planner.name}_least_loaded"

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The planner's plan on other workers."""
        plan = self.planner.plan(observation)
        if isinstance(plan, NoPlan):
            return plan
        return with_roles(plan, self._placed(observation, roles_of(self.cluster, observation, plan)))

    def _placed(self, observation: Observation, roles: Roles) -> Roles:
        found = {}
        for device in sorted(set(roles.devices.values())):
            own = [worker for worker in sorted(roles.of) if roles.devices[worker] == device]
            node = {worker: observation.workers[worker].node or worker for worker in own}
            free = {name: [worker for worker in own if node[worker] == name] for name in sorted(set(node.values()))}
            order = sorted((roles.of[worker] for worker in own), key=lambda role: (not role.busy, sorted(role.holds)))
            names = [str(number) for number in range(len(order))]
            load = {name: role.busy for name, role in zip(names, order, strict=True)}
            machines = [Machine(name, device, len(workers)) for name, workers in free.items()]
            for role, name in zip(order, least_loaded(names, machines, load), strict=True):
                worker = min(free[name], key=lambda each: (len(role.holds - roles.held.get(each, frozenset())), each))
                free[name].remove(worker)
                found[worker] = role
        return replace(roles, of=found)

"""All variants on all workers: what a service does that does not plan."""

from dataclasses import dataclass
from typing import ClassVar

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status


@dataclass(frozen=True)
class Everywhere:
    """Every worker holds all variants that any endpoint has on its device type; pools stay as large as they are.

    Where the memory is too small for all of them, the largest are left out. There are no shares: the endpoint's own
    balancer decides, so that the plan knows no accuracy, nor how much is served and how much the workers bear.
    """

    cluster: Cluster
    name: ClassVar[str] = "everywhere"

    def plan(self, observation: Observation) -> ClusterPlan:
        """The same for every load."""
        demand_qps = self.cluster.demand_qps(observation)
        there = list(observation.devices.values())
        words = ["Every worker holds all that it has memory for."]
        held_by_device: dict[str, frozenset[str]] = {}
        for pool in self.cluster.pools:
            held_by_device[pool.device], left_out = self._fitting(pool)
            if left_out:
                words.append(f"Workers of {pool.device} have no memory for {', '.join(left_out)}.")
        held = {w: held_by_device[device] for w, device in observation.devices.items() if held_by_device.get(device)}
        words += [
            f"No worker holds a variant of {endpoint.name}."
            for endpoint in self.cluster.endpoints
            if demand_qps[endpoint.name] > 0
            and not any(
                candidate.variant in held.get(worker, ())
                for worker, device in observation.devices.items()
                for candidate in endpoint.candidates.get(device, ())
            )
        ]
        sizes = {pool.device: there.count(pool.device) for pool in self.cluster.pools}
        report = SolveReport(Status.HEURISTIC, None, 0.0, tuple(words))
        return ClusterPlan(held=held, demand_qps=demand_qps, pool_sizes=sizes, report=report)

    def _fitting(self, pool: Pool) -> tuple[frozenset[str], tuple[str, ...]]:
        """What a worker of the pool holds, and what is left out: the largest first, of equals the least accurate."""
        accuracy: dict[str, float] = {}
        for endpoint in self.cluster.endpoints:
            for candidate in endpoint.candidates.get(pool.device, ()):
                accuracy[candidate.variant] = max(candidate.accuracy, accuracy.get(candidate.variant, 0.0))
        sizes = {variant: self.cluster.memory_bytes.get(variant, 0) for variant in accuracy}
        order = sorted(accuracy, key=lambda variant: (-sizes[variant], accuracy[variant], variant))
        number = 0
        while sum(sizes[variant] for variant in order[number:]) > pool.memory_bytes:
            number += 1
        return frozenset(order[number:]), tuple(sorted(order[:number]))

"""Accuracy scaling on every device by itself (Sommelier, as Proteus describes it in section 6.1.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.baselines.workers import Option, options_of, plan_of


@dataclass(frozen=True)
class SommelierPlanner:
    """Workers keep their endpoint and their share of it; each chooses a variant for its own part of the load.

    ``home`` has each worker's endpoint and its share of that endpoint's queries, from a plan made at the start.
    A worker takes the most accurate variant that can serve its part of the demand, ``headroom`` times; where none
    can, the fastest. Shares stay as they are.
    """

    cluster: Cluster
    home: Mapping[str, tuple[str, float]]
    headroom: float
    name: ClassVar[str] = "sommelier"

    @classmethod
    def after(cls, cluster: Cluster, initial: ClusterPlan, headroom: float) -> "SommelierPlanner":
        """For workers that begin as in ``initial``; those with several endpoints keep the one they serve most."""
        home: dict[str, tuple[str, float]] = {}
        most_qps: dict[str, float] = {}
        for endpoint, shares in initial.shares.items():
            for worker, share in shares.items():
                if share * initial.demand_qps[endpoint] > most_qps.get(worker, 0.0):
                    home[worker] = (endpoint, share)
                    most_qps[worker] = share * initial.demand_qps[endpoint]
        return cls(cluster, home, headroom)

    def plan(self, observation: Observation) -> ClusterPlan:
        """Every worker's own choice."""
        options = options_of(self.cluster)
        demand_qps = self.cluster.demand_qps(observation)
        chosen: dict[str, Option] = {}
        for worker, (endpoint, share) in self.home.items():
            own = options.get((observation.devices.get(worker, ""), endpoint), ())
            if own:
                needed_qps = demand_qps[endpoint] * share * self.headroom
                enough = [option for option in own if option.qps >= needed_qps]
                chosen[worker] = enough[0] if enough else max(own, key=lambda option: option.qps)
        shares: dict[str, dict[str, float]] = {name: {} for name in demand_qps}
        for worker, (endpoint, share) in self.home.items():
            if worker in chosen:
                shares[endpoint][worker] = share
        return plan_of(observation, demand_qps, chosen, shares, "Every worker keeps its endpoint and its share of it.")

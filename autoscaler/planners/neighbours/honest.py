"""What a plan bears on workers that are as slow as their neighbours make them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from autoscaler.cluster.capacity import WAITS, capacity_of
from autoscaler.cluster.cluster import Cluster, Endpoint
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.slowed import Factors, slower

Slowdowns = Mapping[str, Mapping[str, float]]
"""By worker and variant; 1 where nothing is said."""


@dataclass(frozen=True)
class Reckoning:
    """Works plans out worker by worker; ``devices`` are by worker."""

    cluster: Cluster
    devices: Mapping[str, str]

    def busy(self, worker: str, plan: ClusterPlan, slowdowns: Slowdowns, loads_qps: Mapping[str, float]) -> float:
        """How much of its time a worker needs for its shares of such loads; above 1 it cannot serve them.

        An endpoint's queries run on the variant that serves the most of them, in the largest batches that are in time
        for the shortest objective of the worker's endpoints (see `autoscaler.cluster.capacity`); those that none serves
        in time take all of it.
        """
        own = [
            (endpoint, share * loads_qps.get(endpoint.name, 0.0))
            for endpoint in self.cluster.endpoints
            if (share := plan.shares.get(endpoint.name, {}).get(worker, 0.0)) > 0
        ]
        slo_s = min((endpoint.slo_s for endpoint, _ in own), default=0.0)
        waits = WAITS + len(plan.held.get(worker, ())) - 1
        needed = 0.0
        for endpoint, qps in own:
            most_qps = self._most_qps(endpoint, worker, plan, slowdowns, slo_s, waits)
            needed += qps / most_qps if most_qps else inf if qps else 0.0
        return needed

    def late(self, plan: ClusterPlan, slowdowns: Slowdowns) -> frozenset[str]:
        """The workers with queries that none of their variants can serve in time."""
        return frozenset(
            worker
            for worker in {worker for shares in plan.shares.values() for worker in shares}
            if self.busy(worker, plan, slowdowns, plan.demand_qps) == inf
        )

    def honest(self, plan: ClusterPlan, slowdowns: Slowdowns, reckoned: Factors) -> ClusterPlan:
        """The plan with what it serves and bears beside its neighbours, and these slowdowns.

        ``reckoned`` are the factors that it was made with. Where a worker would need more than its time, it serves a
        part of its shares. An endpoint with its own balancing, whose workers have no shares, bears less by as much as
        these are slower than reckoned on average, in the stage where that is the most.
        """
        found = {name: self._of_own_balancing(name, plan, slowdowns, reckoned) for name in plan.own_balancing}
        if plan.shares:
            found |= self._of_shares(plan, slowdowns)
        served_qps, capacity_qps = dict(plan.served_qps), dict(plan.capacity_qps)
        for name, (served, bears) in found.items():
            capacity_qps[name] = plan.capacity_qps.get(name, 0.0) * bears
            served_qps[name] = plan.served_qps.get(name, 0.0) * served
        return replace(
            plan, served_qps=served_qps, capacity_qps=capacity_qps, slowdowns={w: dict(s) for w, s in slowdowns.items()}
        )

    def _of_shares(self, plan: ClusterPlan, slowdowns: Slowdowns) -> dict[str, tuple[float, float]]:
        """By endpoint the parts of what is served, and of what there is said to be room for, that workers bear."""
        workers = {worker for shares in plan.shares.values() for worker in shares}
        parts: dict[str, list[float]] = {}
        for loads_qps in (plan.demand_qps, plan.capacity_qps):
            borne = {w: 1.0 / max(self.busy(w, plan, slowdowns, loads_qps), 1.0) for w in workers}
            for name, shares in plan.shares.items():
                total = sum(shares.values())
                part = sum(share * borne[w] for w, share in shares.items()) / total if total else 1.0
                parts.setdefault(name, []).append(part if part < 1 - 1e-6 else 1.0)
        return {name: (served, bears) for name, (served, bears) in parts.items()}

    def _of_own_balancing(
        self, name: str, plan: ClusterPlan, slowdowns: Slowdowns, reckoned: Factors
    ) -> tuple[float, float]:
        endpoint = next(each for each in self.cluster.endpoints if each.name == name)
        chosen = plan.stages.get(name, {})
        parts = []
        for stage in endpoint.stages or (endpoint,):
            speeds = []
            for worker, held in plan.held.items():
                device = self.devices.get(worker, "")
                offered = {v for each in stage.candidates.get(device, ()) for v in each.needs} & held
                wanted = offered & chosen[stage.name].variants.keys() if stage.name in chosen else offered
                own = slowdowns.get(worker, {})
                if wanted or offered:
                    speeds.append(
                        min(min(1.0, reckoned.get((device, v), 1.0) / own.get(v, 1.0)) for v in wanted or offered)
                    )
            if speeds:
                parts.append(sum(speeds) / len(speeds))
        bears = min(parts, default=1.0)
        demand_qps, served_qps = plan.demand_qps.get(name, 0.0), plan.served_qps.get(name, 0.0)
        left_qps = plan.capacity_qps.get(name, 0.0) * bears
        return (min(1.0, left_qps / served_qps) if served_qps and demand_qps else 1.0), bears

    def _most_qps(
        self, endpoint: Endpoint, worker: str, plan: ClusterPlan, slowdowns: Slowdowns, slo_s: float, waits: int
    ) -> float:
        held, own = plan.held.get(worker, frozenset()), slowdowns.get(worker, {})
        return max(
            (
                capacity.qps
                for candidate in endpoint.candidates.get(self.devices.get(worker, ""), ())
                if held.issuperset(candidate.needs)
                and (
                    capacity := capacity_of(
                        slower(candidate, max(own.get(variant, 1.0) for variant in candidate.needs)), slo_s, waits=waits
                    )
                )
            ),
            default=0.0,
        )

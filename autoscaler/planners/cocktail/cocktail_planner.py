"""Cocktail's resource management: weighted autoscaling and cost-aware procurement (NSDI 2022, section 4.2)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.planners.cocktail.assignment import Assignment
from autoscaler.planners.cocktail.member_loads import capacities_qps, member_loads_qps
from autoscaler.planners.cocktail.member_workers import Market


@dataclass(frozen=True)
class CocktailOptions:
    """``headroom`` is how many times its load each member has workers for.

    A worker that is there counts ``keep`` of its price where it is weighed against new ones, 0 to 1.
    """

    headroom: float = 1.3
    keep: float = 0.8


@dataclass(frozen=True)
class CocktailPlanner:
    """Gives every member of an ensemble workers of its own, as many as the load and its popularity ask for.

    1. A member's load is the forecast load times the share of queries that run it (Algorithm 2).
    2. It keeps the cheapest of the workers that hold it, as many as it needs.
    3. What is missing is taken from workers that nobody keeps, which only have to load, or procured: greedily from the
       device type with the least cost for what is missing (section 4.2.1). Spot and on-demand are device types. Where
       no pool has a price each worker costs the same.
    4. Workers that nobody needs are spare: they go on serving and are not in the pool sizes, so that whoever follows
       these with a delay gives back what was not needed for that long (the paper's idle timeout of 10 minutes). Where
       pools have a fixed size, they go to the members that have the least room.
    5. A member that has no worker even so is held beside another, where the memory is enough for both.

    Queries are balanced by their endpoints themselves. An interruption is only a worker less in the observation: the
    ensemble answers without, and the plan refills the pool.
    """

    cluster: Cluster
    options: CocktailOptions = field(default_factory=CocktailOptions)
    name: ClassVar[str] = "cocktail"

    def plan(self, observation: Observation) -> ClusterPlan:
        """See `autoscaler.planners.planner.Planner`."""
        demand_qps = self.cluster.demand_qps(observation)
        loads_qps = member_loads_qps(self.cluster, demand_qps, observation.stage_shares)
        market = self._market(observation)
        assignment = Assignment(observation, market)
        wanted_qps = {name: qps * self.options.headroom for name, qps in loads_qps.items() if qps > 0}
        assignment.keep(wanted_qps)
        bought = assignment.fill(wanted_qps)
        spare = assignment.share_out(wanted_qps)
        assignment.double_up(wanted_qps)
        there = Counter(observation.devices.values())
        extra = Counter(device for worker, device in observation.devices.items() if worker in spare)
        sizes = {p.device: there[p.device] - extra[p.device] + bought[p.device] for p in self.cluster.pools}
        capacity_qps = self._capacity_qps(demand_qps, loads_qps, assignment.borne_qps)
        return ClusterPlan(
            held=assignment.held,
            demand_qps=demand_qps,
            served_qps={name: min(qps, capacity_qps[name]) for name, qps in demand_qps.items()},
            capacity_qps=capacity_qps,
            pool_sizes=sizes,
            spare=spare,
            own_balancing=frozenset(demand_qps),
            report=SolveReport(Status.HEURISTIC, None, 0.0, self._words(loads_qps, assignment.borne_qps)),
        )

    # -- inner steps ------------------------------------------------------------------------------------------

    def _market(self, observation: Observation) -> Market:
        there = Counter(observation.devices.values())
        prices = {p.device: observation.prices_per_h.get(p.device, p.price_per_h) for p in self.cluster.pools}
        growth = {
            pool.device: max(pool.max_workers - there[pool.device], 0) if prices[pool.device] < inf else 0
            for pool in self.cluster.pools
            if pool.max_workers is not None
        }
        known = {device: price for device, price in prices.items() if price < inf}
        return Market(
            known if any(known.values()) else dict.fromkeys(known, 1.0),
            growth,
            capacities_qps(self.cluster),
            self.options.keep,
            self.cluster.memory_bytes,
            {pool.device: pool.memory_bytes for pool in self.cluster.pools},
        )

    def _capacity_qps(
        self, demand_qps: Mapping[str, float], loads_qps: Mapping[str, float], borne_qps: Mapping[str, float]
    ) -> dict[str, float]:
        """What the member with the least room bears, of those that some worker holds; nothing where none is held."""
        found = {}
        for endpoint in self.cluster.endpoints:
            members = {c.variant for own in endpoint.candidates.values() for c in own}
            rooms = [borne_qps[m] / loads_qps[m] for m in members if loads_qps.get(m, 0) > 0 and borne_qps.get(m, 0)]
            found[endpoint.name] = demand_qps[endpoint.name] * min(rooms, default=0.0)
        return found

    def _words(self, loads_qps: Mapping[str, float], borne_qps: Mapping[str, float]) -> tuple[str, ...]:
        return tuple(
            f"{name} is asked {qps:.1f} times a second; its workers bear {borne_qps.get(name, 0.0):.1f}."
            for name, qps in loads_qps.items()
            if qps > borne_qps.get(name, 0.0)
        ) or ("Every member bears what it is asked.",)

"""The baselines of Proteus, section 6.1.1, as planners that a controller can be told to use by name.

What they know of the load beforehand, and nobody tells a planner, is in the environment (`LOADS`): a baseline that is
placed once has to be placed for something.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import orjson

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.cluster.restriction import least_accurate, most_accurate
from autoscaler.planners.baselines.infaas import InfaasPlanner
from autoscaler.planners.baselines.sommelier import SommelierPlanner
from autoscaler.planners.planner import Planner
from autoscaler.planners.proteus.proteus_planner import LEAST_QPS, ProteusPlanner
from autoscaler.planners.proteus.search import Problem
from autoscaler.planners.proteus.stages import largest_headroom
from autoscaler.planners.registry import PLANNERS, PlannerKind, PlannerOptions, register

LOADS = "LIVE_PROTEUS_LOADS"
HEADROOM, TIGHT = 1.1, 1.0
"""How much more than the present load INFaaS and Sommelier plan for, and how much Sommelier does that drops less."""

PLACED = (
    (SommelierPlanner.name, HEADROOM),
    (SommelierPlanner.name, TIGHT),
    (InfaasPlanner.name, HEADROOM),
)
"""Baselines that keep something of a first placement."""


@dataclass(frozen=True)
class KnownLoads:
    """Of a trace, in queries per second by endpoint: its mean and its busiest seconds; on so many ``workers``."""

    mean_qps: Mapping[str, float]
    peak_qps: Mapping[str, float]
    workers: int

    @classmethod
    def told(cls) -> "KnownLoads":
        """What the environment says. Raises RuntimeError where it says nothing."""
        text = os.environ.get(LOADS)
        if text is None:
            raise RuntimeError(f"{LOADS} is not set, which baselines are placed by; start them by their benchmark")
        return cls(**orjson.loads(text))

    def as_environment(self) -> dict[str, str]:
        """For the service."""
        return {LOADS: orjson.dumps(vars(self)).decode()}


@dataclass(frozen=True)
class Clipper:
    """One variant an endpoint, placed once for the peak, or for as much of it as can be served (Clipper)."""

    cluster: Cluster
    loads: KnownLoads
    name: ClassVar[str] = "clipper"

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The same for every load: infeasible demand shrinks (section 4). What has no query at the peak counts by its
        mean."""
        peak_qps = {name: qps or self.loads.mean_qps[name] for name, qps in self.loads.peak_qps.items()}
        total_qps = sum(peak_qps.values())
        mix = {name: qps / total_qps for name, qps in peak_qps.items()}
        planner = ProteusPlanner(self.cluster)
        there = list(observation.devices.values())
        sizes = {pool.device: there.count(pool.device) for pool in self.cluster.pools}
        most_qps = largest_headroom(Problem(planner.columns, sizes, mix))
        part = min(1.0, 0.999 * most_qps / total_qps) if most_qps > LEAST_QPS else 1.0
        demand_qps = {name: qps * part for name, qps in peak_qps.items()}
        return planner.plan(replace(observation, demand_qps=demand_qps))


@dataclass(frozen=True)
class Placed:
    """INFaaS or Sommelier, after a first placement for the mean load, which is made when all workers are there.

    They plan for ``headroom`` times the present load. Sommelier's workers keep the endpoint and the share that they
    have in it.
    """

    cluster: Cluster
    loads: KnownLoads
    name: str
    headroom: float = HEADROOM

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The first placement until all workers have one, then what the baseline decides."""
        home = _HOMES.get((self.name, self.headroom))
        if home is None:
            first = ProteusPlanner(self.cluster).plan(replace(observation, demand_qps=dict(self.loads.mean_qps)))
            if isinstance(first, ClusterPlan) and len(observation.workers) >= self.loads.workers:
                after = SommelierPlanner.after(self.cluster, first, self.headroom)
                _HOMES[self.name, self.headroom] = dict(after.home)
            return first
        if self.name == SommelierPlanner.name:
            return SommelierPlanner(self.cluster, home, self.headroom).plan(observation)
        return InfaasPlanner(self.cluster, self.headroom).plan(observation)


_HOMES: dict[tuple[str, float], dict[str, tuple[str, float]]] = {}
"""By baseline and headroom the endpoint and the share of each worker in the first placement. Of the process that plans:
a planner is made for every plan."""


def begin_with(cluster: Cluster, first: ClusterPlan) -> None:
    """This was the first placement of whatever plans in this process."""
    for name, headroom in PLACED:
        _HOMES[name, headroom] = dict(SommelierPlanner.after(cluster, first, headroom).home)


def kinds() -> dict[str, PlannerKind]:
    """The baselines by name."""

    def clipper_ha(cluster: Cluster, options: PlannerOptions) -> Planner:
        return Clipper(most_accurate(cluster), KnownLoads.told())

    def clipper_ht(cluster: Cluster, options: PlannerOptions) -> Planner:
        return Clipper(least_accurate(cluster), KnownLoads.told())

    def sommelier(cluster: Cluster, options: PlannerOptions) -> Planner:
        return Placed(cluster, KnownLoads.told(), SommelierPlanner.name)

    def sommelier_tight(cluster: Cluster, options: PlannerOptions) -> Planner:
        return Placed(cluster, KnownLoads.told(), SommelierPlanner.name, TIGHT)

    def infaas(cluster: Cluster, options: PlannerOptions) -> Planner:
        return Placed(cluster, KnownLoads.told(), InfaasPlanner.name)

    placed_once = {"clipper_ha": clipper_ha, "clipper_ht": clipper_ht}
    by_load = {"sommelier": sommelier, "sommelier_tight": sommelier_tight, "infaas": infaas}
    return {
        name: PlannerKind(name, assigns=True, by_load=name in by_load, sizes=False, solves=True, make=make)
        for name, make in (placed_once | by_load).items()
    }


def register_baselines() -> None:
    """Let configs of this process name them; once is enough."""
    for name, kind in kinds().items():
        if name not in PLANNERS:
            register(kind)

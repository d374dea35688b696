"""The systems that are compared: Accord's, the baselines of Proteus, section 6.1.1, and the ablations of 6.5."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.cluster.restriction import (
    least_accurate,
    least_accurate_by_device,
    most_accurate,
    most_accurate_by_device,
    one_row,
)
from autoscaler.demand.burst import BurstTrigger
from autoscaler.planners.baselines.infaas import InfaasPlanner
from autoscaler.planners.baselines.sommelier import SommelierPlanner
from autoscaler.planners.baselines.uniform_shares import UniformShares
from autoscaler.planners.planner import Planner
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import LEAST_QPS, ProteusPlanner
from benchmarks.proteus.saturation import saturation_qps
from benchmarks.proteus.shipped import shipped_options
from benchmarks.proteus.testbed import Testbed
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.selection.policy import SelectionPolicy
from dispatch.worker_info import workers_of

PAPER = ProteusOptions(deviations=0.0, tolerance=0.0, room_down_to=1.0, use_idle_workers=False, accuracy="normalised")
"""The program of section 4 and nothing else: what the paper makes the baselines' first placement with."""

TUNED = ("sommelier", "infaas_accuracy", "clipper_ha", "clipper_ht")
"""Baselines that have what Accord has besides its planner, with the headroom that suits them best on another trace."""

SWEPT = ("proteus", *TUNED, "literal")
"""Systems that are played with every headroom."""

BASELINES = (*TUNED, "literal")
"""What `proteus` is compared with."""

AS_DESCRIBED = tuple(f"{name}_as_described" for name in TUNED)
WITHOUT = tuple(
    f"without_{part}" for part in ("placement", "selection", "batching", "assignment", "headroom", "room", "fallback")
)
SYSTEMS = (*SWEPT, *AS_DESCRIBED, *WITHOUT)

USUAL_HEADROOM = 1.1
"""How much more than the present load planners without a program plan for, where nothing says what suits them."""

BY_LOAD = BurstTrigger(violation_ratio=inf)
"""Asks for plans when load changes, never for more careful ones: that is Accord's."""

INFAAS_INTERVAL_S = 1.0
"""INFaaS decides as queries come (section 6.2): here every second."""


@dataclass(frozen=True)
class Loads:
    """What is known of a trace, in queries per second by endpoint: how it begins, its mean, and its busiest 10 s."""

    first_qps: Mapping[str, float]
    mean_qps: Mapping[str, float]
    peak_qps: Mapping[str, float]


@dataclass(frozen=True)
class System:
    """One way to run the cluster.

    ``interval_s`` infinity never plans again. ``solve_s`` is what a plan is charged for. ``cluster`` has the variants
    that the system may use.
    """

    cluster: Cluster
    planner: Planner
    initial: ClusterPlan
    batching: SelectionPolicy
    interval_s: float = inf
    trigger: BurstTrigger | None = None
    solve_s: float = 0.0
    drop_late: bool = False


@dataclass(frozen=True)
class Study:
    """Makes systems for one testbed and trace; plans are made every ``interval_s`` and charged ``solve_s``."""

    testbed: Testbed
    loads: Loads
    interval_s: float
    solve_s: float

    @cached_property
    def shipped(self) -> ProteusOptions:
        """What a service with the shipped config plans with on this testbed."""
        return shipped_options(self.testbed.cluster, len(self.testbed.workers))

    @property
    def placing(self) -> ProteusOptions:
        """The same for placements of baselines: no variants beside those that they choose."""
        return replace(self.shipped, fallback=0)

    def headroom_of(self, name: str) -> float:
        """How many times the load a system plans for where nothing else was chosen for it."""
        if name in TUNED or name in AS_DESCRIBED:
            return USUAL_HEADROOM
        return PAPER.headroom if name == "literal" else self.shipped.headroom

    def system(self, name: str, headroom: float) -> System:
        """One of `SYSTEMS`, which plans for so many times the load."""
        return self._makers()[name](headroom)

    def _makers(self) -> Mapping[str, Callable[[float], System]]:
        cluster = self.testbed.cluster
        best, single = most_accurate(cluster), one_row(cluster)
        clipper, mean_qps, first_qps = AdditiveIncrease(), self.loads.mean_qps, self.loads.first_qps
        return {
            "proteus": lambda h: self._scaling(cluster, headroom=h),
            "literal": lambda h: self._scaling(cluster, replace(PAPER, headroom=h), BY_LOAD),
            "sommelier": lambda h: self._sommelier(self.placing, mean_qps, h),
            "infaas_accuracy": lambda h: self._infaas(AdaptiveBatching(), h),
            "clipper_ha": lambda h: self._static(most_accurate_by_device(cluster), AdaptiveBatching(), h),
            "clipper_ht": lambda h: self._static(least_accurate_by_device(cluster), AdaptiveBatching(), h),
            "sommelier_as_described": lambda h: self._sommelier(PAPER, first_qps, h),
            "infaas_accuracy_as_described": lambda h: self._infaas(AdditiveIncrease(begins_full=True), h),
            "clipper_ha_as_described": lambda h: self._static(best, clipper, 1.0),
            "clipper_ht_as_described": lambda h: self._static(least_accurate(cluster), clipper, 1.0),
            "without_placement": self._pinned,
            "without_selection": lambda h: self._scaling(best, headroom=h),
            "without_batching": lambda h: self._scaling(single, replace(self.shipped, headroom=h, gap=5e-3)),
            "without_assignment": self._uniform,
            "without_headroom": lambda h: self._scaling(
                cluster, replace(self.shipped, headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0)
            ),
            "without_room": lambda h: self._scaling(cluster, replace(self.shipped, headroom=h, room_down_to=1.0)),
            "without_fallback": lambda h: self._scaling(cluster, replace(self.placing, headroom=h)),
        }

    def _plan(self, planner: Planner, demand_qps: Mapping[str, float]) -> ClusterPlan:
        plan = planner.plan(Observation(0.0, demand_qps, workers_of(self.testbed.workers), {}))
        if isinstance(plan, NoPlan):
            raise RuntimeError(f"planner {planner.name!r} found no first plan in its time")
        return plan

    def _scaling(
        self,
        cluster: Cluster,
        options: ProteusOptions | None = None,
        trigger: BurstTrigger | None = None,
        *,
        headroom: float = 1.0,
    ) -> System:
        planner = ProteusPlanner(cluster, options or replace(self.shipped, headroom=headroom))
        return self._replanning(planner, cluster, self.loads.first_qps, trigger)

    def _replanning(
        self, planner: Planner, cluster: Cluster, first_qps: Mapping[str, float], trigger: BurstTrigger | None = None
    ) -> System:
        initial = self._plan(planner, first_qps)
        trigger = trigger or BurstTrigger()
        return System(cluster, planner, initial, AdaptiveBatching(), self.interval_s, trigger, self.solve_s)

    def _static(self, cluster: Cluster, batching: SelectionPolicy, headroom: float) -> System:
        """Placed once for the peak, or as much of it as can be served: infeasible demand shrinks (section 4).

        What has no query at the peak counts by its mean. Where no part of all endpoints' demand can be served at once,
        the planner sheds. With its own batching, as described, nothing is given up before it is late.
        """
        peak_qps = {n: (qps or self.loads.mean_qps[n]) * headroom for n, qps in self.loads.peak_qps.items()}
        total_qps = sum(peak_qps.values())
        mix = {name: qps / total_qps for name, qps in peak_qps.items()}
        most_qps = saturation_qps(Testbed(cluster, self.testbed.workers, ()), mix)
        part = min(1.0, most_qps / total_qps * 0.999) if most_qps > LEAST_QPS else 1.0
        planner = ProteusPlanner(cluster, self.placing)
        initial = self._plan(planner, {name: qps * part for name, qps in peak_qps.items()})
        return System(cluster, planner, initial, batching, drop_late=isinstance(batching, AdditiveIncrease))

    def _sommelier(self, options: ProteusOptions, demand_qps: Mapping[str, float], headroom: float) -> System:
        cluster = self.testbed.cluster
        initial = self._plan(ProteusPlanner(cluster, options), demand_qps)
        planner = SommelierPlanner.after(cluster, initial, headroom)
        return System(cluster, planner, initial, AdaptiveBatching(), self.interval_s, BY_LOAD)

    def _infaas(self, batching: SelectionPolicy, headroom: float) -> System:
        cluster = self.testbed.cluster
        planner = InfaasPlanner(cluster, headroom)
        initial = self._plan(planner, self.loads.first_qps)
        drop_late = isinstance(batching, AdditiveIncrease)
        return System(cluster, planner, initial, batching, INFAAS_INTERVAL_S, drop_late=drop_late)

    def _uniform(self, headroom: float) -> System:
        """Queries are spread evenly over the workers that the planner chose."""
        cluster = self.testbed.cluster
        planner = UniformShares(ProteusPlanner(cluster, replace(self.shipped, headroom=headroom)))
        return self._replanning(planner, cluster, self.loads.first_qps)

    def _pinned(self, headroom: float) -> System:
        """Workers keep their endpoint, from a placement for the mean load."""
        cluster, workers = self.testbed.cluster, self.testbed.workers
        options = replace(self.shipped, headroom=headroom)
        initial = self._plan(ProteusPlanner(cluster, options), self.loads.mean_qps)
        places: dict[tuple[str, str], int] = {}
        for endpoint, shares in initial.shares.items():
            for worker in shares:
                place = (workers[worker], endpoint)
                places[place] = places.get(place, 0) + 1
        planner = ProteusPlanner(cluster, options, pinned=places)
        return System(cluster, planner, initial, AdaptiveBatching(), self.interval_s, BurstTrigger(), self.solve_s)

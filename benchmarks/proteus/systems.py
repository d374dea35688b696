"""The systems that are compared: Accord's, the baselines of Proteus, section 6.1.1, and the ablations of 6.5."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.cluster.restriction import least_accurate, most_accurate, one_row
from autoscaler.demand.burst import BurstTrigger
from autoscaler.planners.baselines.infaas import InfaasPlanner
from autoscaler.planners.baselines.sommelier import SommelierPlanner
from autoscaler.planners.baselines.uniform_shares import UniformShares
from autoscaler.planners.planner import Planner
from autoscaler.planners.proteus.proteus_planner import LEAST_QPS, ProteusOptions, ProteusPlanner
from benchmarks.proteus.saturation import saturation_qps
from benchmarks.proteus.testbed import Testbed
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.batching.nexus import EarlyDrop
from dispatch.selection.policy import SelectionPolicy
from dispatch.worker_info import workers_of

PAPER = ProteusOptions(deviations=0.0, tolerance=0.0, use_idle_workers=False)
"""The program of section 4 and nothing else: what the paper makes the baselines' first placement with."""

HEADROOM = 1.1
"""How much more than the present load the planners without a program plan for."""

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

    @property
    def systems(self) -> dict[str, Callable[[], System]]:
        """Accord's planner and the baselines of section 6.1.1."""
        cluster = self.testbed.cluster
        return {
            "proteus": lambda: self._scaling(ProteusPlanner(cluster), cluster),
            "clipper_ha": lambda: self._static(most_accurate(cluster)),
            "clipper_ht": lambda: self._static(least_accurate(cluster)),
            "sommelier": lambda: self._sommelier(PAPER, self.loads.first_qps),
            "infaas_accuracy": lambda: self._infaas(AdditiveIncrease(), drop_late=True),
        }

    @property
    def stronger(self) -> dict[str, Callable[[], System]]:
        """Baselines that get more than their papers give them.

        Sommelier with a placement for the mean load that uses all workers, and INFaaS with the early drop of Nexus.
        """
        return {
            "sommelier_spread": lambda: self._sommelier(ProteusOptions(), self.loads.mean_qps),
            "infaas_early_drop": lambda: self._infaas(EarlyDrop(), drop_late=False),
        }

    @property
    def ablations(self) -> dict[str, Callable[[], System]]:
        """Accord's planner without one of its parts (section 6.5), and the program of section 4 by itself."""
        cluster = self.testbed.cluster
        best, single = most_accurate(cluster), one_row(cluster)
        return {
            "without_placement": self._pinned,
            "without_selection": lambda: self._scaling(ProteusPlanner(best), best),
            "without_batching": lambda: self._scaling(ProteusPlanner(single, ProteusOptions(gap=5e-3)), single),
            "without_assignment": lambda: self._scaling(UniformShares(ProteusPlanner(cluster)), cluster),
            "without_headroom": lambda: self._scaling(ProteusPlanner(cluster, PAPER), cluster),
        }

    def _plan(self, planner: Planner, demand_qps: Mapping[str, float]) -> ClusterPlan:
        plan = planner.plan(Observation(0.0, demand_qps, workers_of(self.testbed.workers), {}))
        if isinstance(plan, NoPlan):
            raise RuntimeError(f"planner {planner.name!r} found no first plan in its time")
        return plan

    def _scaling(self, planner: Planner, cluster: Cluster) -> System:
        initial = self._plan(planner, self.loads.first_qps)
        return System(cluster, planner, initial, AdaptiveBatching(), self.interval_s, BurstTrigger(), self.solve_s)

    def _static(self, cluster: Cluster) -> System:
        """Placed once for the peak, or as much of it as can be served: infeasible demand shrinks (section 4).

        Where no part of all endpoints' demand can be served at once, the planner sheds.
        """
        peak_qps = self.loads.peak_qps
        total_qps = sum(peak_qps.values())
        mix = {name: qps / total_qps for name, qps in peak_qps.items()}
        most_qps = saturation_qps(Testbed(cluster, self.testbed.workers, ()), mix)
        part = min(1.0, most_qps / total_qps * 0.999) if most_qps > LEAST_QPS else 1.0
        planner = ProteusPlanner(cluster)
        initial = self._plan(planner, {name: qps * part for name, qps in peak_qps.items()})
        return System(cluster, planner, initial, AdditiveIncrease(), drop_late=True)

    def _sommelier(self, options: ProteusOptions, demand_qps: Mapping[str, float]) -> System:
        cluster = self.testbed.cluster
        initial = self._plan(ProteusPlanner(cluster, options), demand_qps)
        planner = SommelierPlanner.after(cluster, initial, HEADROOM)
        return System(cluster, planner, initial, AdaptiveBatching(), self.interval_s, BY_LOAD)

    def _infaas(self, batching: SelectionPolicy, *, drop_late: bool) -> System:
        cluster = self.testbed.cluster
        planner = InfaasPlanner(cluster, HEADROOM)
        initial = self._plan(planner, self.loads.first_qps)
        return System(cluster, planner, initial, batching, INFAAS_INTERVAL_S, drop_late=drop_late)

    def _pinned(self) -> System:
        """Workers keep their endpoint, from a placement for the mean load."""
        cluster, workers = self.testbed.cluster, self.testbed.workers
        initial = self._plan(ProteusPlanner(cluster), self.loads.mean_qps)
        places: dict[tuple[str, str], int] = {}
        for endpoint, shares in initial.shares.items():
            for worker in shares:
                place = (workers[worker], endpoint)
                places[place] = places.get(place, 0) + 1
        planner = ProteusPlanner(cluster, pinned=places)
        return System(cluster, planner, initial, AdaptiveBatching(), self.interval_s, BurstTrigger(), self.solve_s)

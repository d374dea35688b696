"""Accuracy scaling by an exact program (Proteus, section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import ClassVar

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.planners.proteus.assignment import assign
from autoscaler.planners.proteus.burst_headroom import LIMIT_PART, TOLERANCE_TIMES, with_burst_room
from autoscaler.planners.proteus.burst_room import BurstRoom
from autoscaler.planners.proteus.column import Column, columns_of
from autoscaler.planners.proteus.explanation import explain
from autoscaler.planners.proteus.fallbacks import with_fallbacks
from autoscaler.planners.proteus.headroom import with_headroom
from autoscaler.planners.proteus.idle_workers import evenly, with_idle_workers
from autoscaler.planners.proteus.normalisation import best_accuracy, normalised
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.room import with_room
from autoscaler.planners.proteus.search import Problem, Search
from autoscaler.planners.proteus.stages import SLACK, Objectives, solve

LEAST_QPS = 1e-3
"""Where anything is asked for, so much is planned for: less is lost in a solver's tolerance."""

MOST_TIMES = 1e4
"""No more of an endpoint's demand is planned for than so many times what all workers could serve of it: what counts is
that it is out of reach, and a solver loses small figures beside large ones."""


@dataclass(frozen=True)
class ProteusPlanner:
    """Solves for all endpoints and workers at once: which variants, where, and which share of whose queries.

    ``pinned`` bounds the workers of each device type and endpoint, for ablations; None lets every worker change sides.
    """

    cluster: Cluster
    options: ProteusOptions = field(default_factory=ProteusOptions)
    pinned: Mapping[tuple[str, str], int] | None = None
    columns: tuple[Column, ...] = field(init=False, repr=False)
    name: ClassVar[str] = "proteus"

    def __post_init__(self) -> None:
        """Find all ways to use a worker once."""
        weighed = normalised(self.cluster) if self.options.accuracy == "normalised" else self.cluster
        object.__setattr__(self, "columns", columns_of(weighed, self.options.per_worker))

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The best plan for the observed demand, or that the time was up with no answer.

        Raises ValueError for a demand that is no number from 0, or of an endpoint that is not there.
        """
        demand_qps = {name: qps for name, qps in self.cluster.demand_qps(observation).items() if qps > 0}
        least_qps = {name: max(qps, LEAST_QPS) for name, qps in demand_qps.items()}
        asked = Problem(self.columns, self._workers(observation), least_qps, self.pinned)
        most_qps = asked.most_qps
        problem = replace(
            asked,
            demand_qps={n: min(qps, MOST_TIMES * most_qps[n]) for n, qps in least_qps.items() if n in most_qps},
        )
        options = self.options
        search = Search(options.gap, options.limit_s, options.solver)
        staged = solve(problem, self._objectives(problem.demand_qps), search)
        if staged is None:
            words = f"No answer within {options.limit_s:g} s: allow for more, or for a larger gap."
            return NoPlan(SolveReport(Status.NO_ANSWER, None, search.solve_s, (words,)))
        fixed = [pool.device for pool in self.cluster.pools if pool.max_workers is None]
        may_give_up = len(fixed) == len(self.cluster.pools) and not options.fair
        tolerance = options.room.tolerance if may_give_up else 0.0
        idle_devices = fixed if options.use_idle_workers else ()
        ample = with_headroom(problem, staged, tolerance, search)
        ample = with_room(
            problem,
            ample,
            self._deviation_qps(problem.demand_qps),
            options.room.down_to if may_give_up else 1.0,
            search,
        )
        room = BurstRoom.of(self.columns) if options.fallback else None
        if room is not None:
            apart = Search(options.gap, LIMIT_PART * options.limit_s, options.solver)
            ample = with_burst_room(problem, ample, TOLERANCE_TIMES * tolerance, apart, room)
            search.solve_s += apart.solve_s
        with_margin = replace(problem, demand_qps=ample.planned_qps)
        counts = with_idle_workers(with_margin, ample.solution, idle_devices, room)
        loads = evenly(with_margin, counts, ample.solution)
        gap = staged.gap
        report = SolveReport(
            Status.OPTIMAL if gap <= options.gap + SLACK else Status.FEASIBLE,
            gap if isfinite(gap) else None,
            search.solve_s,
            explain(asked, staged, ample, loads, search),
        )
        served = {
            (column, use): qps * min(demand_qps[use.endpoint] / ample.planned_qps[use.endpoint], 1.0)
            for (column, use), qps in loads.items()
        }
        capacity_qps = dict.fromkeys(demand_qps, 0.0) | dict(ample.planned_qps)
        plan = assign(self.cluster, observation, demand_qps, counts, served, capacity_qps, report)
        plan = with_fallbacks(self.cluster, observation, plan, options.fallback)
        if options.accuracy == "given":
            return plan
        best = best_accuracy(self.cluster)
        return replace(plan, accuracy={name: of_best * best[name] for name, of_best in plan.accuracy.items()})

    def _deviation_qps(self, demand_qps: Mapping[str, float]) -> dict[str, float]:
        """What one standard deviation adds to a load while an objective lasts, if queries come at random."""
        slo_s = {endpoint.name: endpoint.slo_s for endpoint in self.cluster.endpoints}
        return {name: sqrt(qps / slo_s[name]) for name, qps in demand_qps.items()}

    def _workers(self, observation: Observation) -> dict[str, int]:
        there = list(observation.devices.values())
        return {
            pool.device: there.count(pool.device) if pool.max_workers is None else pool.max_workers
            for pool in self.cluster.pools
        }

    def _objectives(self, demand_qps: Mapping[str, float]) -> Objectives:
        options = self.options
        deviation_qps = self._deviation_qps(demand_qps)
        margin_qps = {
            name: qps * (options.headroom - 1) + options.room.deviations * deviation_qps[name]
            for name, qps in demand_qps.items()
        }
        total_qps = sum(demand_qps.values()) + sum(margin_qps.values())
        prices = {
            pool.device: pool.price_per_h / options.price_per_point / 100 * total_qps
            for pool in self.cluster.pools
            if pool.max_workers is not None
        }
        cost = self._worker_cost() if options.price_per_point == inf else {}
        return Objectives(margin_qps, options.fair, options.overload == "even", prices, cost)

    def _worker_cost(self) -> dict[str, float]:
        """Prices of pools whose size is free, none quite 0, so that no worker is asked for that is not needed."""
        prices = {pool.device: pool.price_per_h for pool in self.cluster.pools if pool.max_workers is not None}
        least = max(prices.values(), default=0.0) / 1000 or 1.0
        return {device: price + least for device, price in prices.items()}

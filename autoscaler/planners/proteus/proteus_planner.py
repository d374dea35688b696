"""Accuracy scaling by an exact program (Proteus, section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import ClassVar

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.planners.proteus.assignment import assign
from autoscaler.planners.proteus.column import Column, columns_of
from autoscaler.planners.proteus.explanation import explain
from autoscaler.planners.proteus.headroom import with_headroom
from autoscaler.planners.proteus.idle_workers import evenly, with_idle_workers
from autoscaler.planners.proteus.search import SOLVERS, Problem, Search
from autoscaler.planners.proteus.stages import SLACK, Objectives, solve
from catalog.errors import ConfigError

LEAST_QPS = 1e-3
"""Where anything is asked for, so much is planned for: less is lost in a solver's tolerance."""


@dataclass(frozen=True)
class ProteusOptions:
    """How to plan; the paper is ``deviations`` 0, ``tolerance`` 0 and ``use_idle_workers`` False.

    A plan has room for ``headroom`` times the demand, and for so many standard ``deviations`` of the queries that
    come within an objective if they come at random: the less there are, the more their number varies. Where the
    cluster cannot, it has as much room as it can. It has more where that costs at most ``tolerance`` of effective
    accuracy, unless it is ``fair`` or sizes a pool. ``use_idle_workers`` gives those
    that are not needed to the busiest.

    ``gap`` and ``limit_s`` (of solver time) end a solve. ``solver`` is scip or highs. ``fair`` puts the endpoint first
    that is worst off (section 7); ``price_per_point`` is the price per hour that one point (0.01) of effective accuracy
    is worth, for pools whose size is free; ``per_worker`` 2 lets two variants share a worker.
    """

    headroom: float = 1.0
    deviations: float = 0.25
    tolerance: float = 0.004
    use_idle_workers: bool = True
    gap: float = 1e-3
    limit_s: float = 5.0
    solver: str = "scip"
    fair: bool = False
    price_per_point: float = inf
    per_worker: int = 1

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values that no plan can be made with."""
        for name, value, fits, wanted in (
            ("headroom", self.headroom, 1 <= self.headroom < inf, "a number from 1"),
            ("deviations", self.deviations, 0 <= self.deviations < inf, "a number from 0"),
            ("tolerance", self.tolerance, 0 <= self.tolerance < 1, "a number from 0 and below 1"),
            ("gap", self.gap, 0 <= self.gap < 1, "a number from 0 and below 1"),
            ("limit_s", self.limit_s, 0 < self.limit_s < inf, "a time above 0"),
            ("solver", self.solver, self.solver in SOLVERS, f"one of {', '.join(sorted(SOLVERS))}"),
            ("price_per_point", self.price_per_point, self.price_per_point > 0, "a price above 0"),
            ("per_worker", self.per_worker, self.per_worker in (1, 2), "1 or 2"),
        ):
            if not fits:
                raise ConfigError(f"{name} of the planner is {value!r}; give {wanted}")


@dataclass(frozen=True)
class ProteusPlanner:
    """Solves for all endpoints and workers at once: which variants, where, and which share of whose queries.

    ``pinned`` bounds the workers of each device type and endpoint, for ablations; None lets every worker change sides.
    """

    cluster: Cluster
    options: ProteusOptions = ProteusOptions()
    pinned: Mapping[tuple[str, str], int] | None = None
    columns: tuple[Column, ...] = field(init=False, repr=False)
    name: ClassVar[str] = "proteus"

    def __post_init__(self) -> None:
        """Find all ways to use a worker once."""
        object.__setattr__(self, "columns", columns_of(self.cluster, self.options.per_worker))

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The best plan for the observed demand, or that the time was up with no answer.

        Raises ValueError for a demand that is no number from 0, or of an endpoint that is not there.
        """
        demand_qps = {name: qps for name, qps in self.cluster.demand_qps(observation).items() if qps > 0}
        least_qps = {name: max(qps, LEAST_QPS) for name, qps in demand_qps.items()}
        problem = Problem(self.columns, self._workers(observation), least_qps, self.pinned)
        options = self.options
        search = Search(options.gap, options.limit_s, options.solver)
        staged = solve(problem, self._objectives(least_qps), search)
        if staged is None:
            words = f"No answer within {options.limit_s:g} s of solver time: allow for more, or for a larger gap."
            return NoPlan(SolveReport(Status.NO_ANSWER, None, search.solve_s, (words,)))
        fixed = [pool.device for pool in self.cluster.pools if pool.max_workers is None]
        tolerance = options.tolerance if len(fixed) == len(self.cluster.pools) and not options.fair else 0.0
        ample = with_headroom(problem, staged, tolerance, search)
        with_margin = replace(problem, demand_qps=ample.planned_qps)
        counts = with_idle_workers(with_margin, ample.solution, fixed if options.use_idle_workers else ())
        loads = evenly(with_margin, counts, ample.solution)
        gap = staged.gap
        report = SolveReport(
            Status.OPTIMAL if gap <= options.gap + SLACK else Status.FEASIBLE,
            gap if isfinite(gap) else None,
            search.solve_s,
            explain(problem, staged, ample, loads),
        )
        served = {
            (column, use): qps * demand_qps[use.endpoint] / ample.planned_qps[use.endpoint]
            for (column, use), qps in loads.items()
        }
        return assign(self.cluster, observation, demand_qps, counts, served, ample.planned_qps, report)

    def _workers(self, observation: Observation) -> dict[str, int]:
        there = list(observation.devices.values())
        return {
            pool.device: there.count(pool.device) if pool.max_workers is None else pool.max_workers
            for pool in self.cluster.pools
        }

    def _objectives(self, demand_qps: Mapping[str, float]) -> Objectives:
        options = self.options
        slo_s = {endpoint.name: endpoint.slo_s for endpoint in self.cluster.endpoints}
        margin_qps = {
            name: qps * (options.headroom - 1) + options.deviations * sqrt(qps / slo_s[name])
            for name, qps in demand_qps.items()
        }
        total_qps = sum(demand_qps.values()) + sum(margin_qps.values())
        prices = {
            pool.device: pool.price_per_h / options.price_per_point / 100 * total_qps
            for pool in self.cluster.pools
            if pool.max_workers is not None
        }
        return Objectives(
            margin_qps, options.fair, prices, self._worker_cost() if options.price_per_point == inf else {}
        )

    def _worker_cost(self) -> dict[str, float]:
        """Prices of pools whose size is free, none quite 0, so that no worker is asked for that is not needed."""
        prices = {pool.device: pool.price_per_h for pool in self.cluster.pools if pool.max_workers is not None}
        least = max(prices.values(), default=0.0) / 1000 or 1.0
        return {device: price + least for device, price in prices.items()}

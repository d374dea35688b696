"""Solving one stage of the program, exactly or within a proven gap."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.column import Column, enough
from autoscaler.planners.proteus.placement_model import PlacementModel, UseKey

SOLVERS = {"highs": mathopt.SolverType.HIGHS, "scip": mathopt.SolverType.GSCIP}
"""Solvers of mixed-integer programs by the name that a config gives."""

MOST_COLUMNS = 80
"""More columns than these are sieved by the relaxation first."""

BUILD_S = 1.5e-4
"""What a model takes to build, for each of its columns, on a slow machine: there is no clock here to ask."""

MANY_COLUMNS = 1000
"""Models with no more take no time to speak of; with more, HiGHS solves the relaxation in a tenth of GLOP's time."""

MOST_RELAXED = 15_000
"""With more columns the relaxation is not begun: its model alone takes most of a few seconds."""

RELAXATION_PART = 0.6
"""The part of the time that is left which the relaxation of many columns may take: whole numbers need the rest."""

Stage = Callable[[PlacementModel], mathopt.LinearExpression]
"""Adds what must hold to a model, and says what to maximise."""


@dataclass(frozen=True)
class Problem:
    """What a `PlacementModel` is made of."""

    columns: Sequence[Column]
    workers: Mapping[str, int]
    demand_qps: Mapping[str, float]
    pinned: Mapping[tuple[str, str], int] | None = None

    def pruned(self) -> "Problem":
        """The same without columns that this demand has no need of."""
        return replace(self, columns=enough(self.columns, self.demand_qps))

    @property
    def most_qps(self) -> dict[str, float]:
        """By endpoint that some worker could serve, what all of them could serve of it and of nothing else."""
        best: dict[tuple[str, str], float] = {}
        for column in self.columns:
            for use in column.uses:
                key = (column.device, use.endpoint)
                if self.workers.get(column.device) and (self.pinned is None or self.pinned.get(key)):
                    best[key] = max(best.get(key, 0.0), use.qps)
        most: dict[str, float] = {}
        for (device, endpoint), qps in best.items():
            most[endpoint] = most.get(endpoint, 0.0) + qps * self.workers[device]
        return most


@dataclass(frozen=True)
class Solution:
    """Workers per column and queries per second per use; ``bound`` is above every objective that there can be."""

    counts: Mapping[Column, int]
    loads: Mapping[UseKey, float]
    objective: float
    bound: float

    @property
    def served_qps(self) -> dict[str, float]:
        """Queries per second by endpoint."""
        served: dict[str, float] = {}
        for (_, use), qps in self.loads.items():
            served[use.endpoint] = served.get(use.endpoint, 0.0) + qps
        return served

    @property
    def gap(self) -> float:
        """Proven distance from the best, relative to it; infinite where nothing is proven."""
        if self.bound == math.inf:
            return math.inf
        return max(self.bound - self.objective, 0.0) / max(abs(self.bound), 1e-9)


class Search:
    """Solves stages until ``limit_s`` seconds are spent: what solvers took, and what models take to build (`BUILD_S`).

    ``solve_s`` is what the solvers took of them.
    """

    def __init__(self, gap: float, limit_s: float, solver: str = "scip") -> None:
        self._gap = gap
        self._left_s = limit_s
        self._solver = SOLVERS[solver]
        self._kept_s = 0.0
        self.solve_s = 0.0

    def maximise(
        self, problem: Problem, stage: Stage, incumbent: Solution | None, *, part: float = 1.0
    ) -> Solution | None:
        """The best for this stage, within the gap where time allows; None where nothing was found.

        The workers of ``incumbent`` are kept where time does not allow for better ones, with loads that are best for
        the stage, unless it cannot be met with them. ``part`` of the time that is left may be used up.
        """
        self._kept_s = max(self._left_s, 0.0) * (1 - part)
        problem = problem.pruned()
        columns = problem.columns
        found: list[Solution] = []
        bound = math.inf
        if len(columns) > MOST_COLUMNS:
            relaxed = self._relaxation(problem, stage, RELAXATION_PART)
            if relaxed is None:
                return self._without_relaxation(problem, stage, incumbent)
            bound, promising = relaxed
            kept = {*promising, *(incumbent.counts if incumbent is not None else ())}
            found += self._integer(problem, [column for column in columns if column in kept], stage)
        if not found or replace(found[0], bound=bound).gap > self._gap:
            for exact in self._integer(problem, columns, stage):
                found.append(exact)
                bound = min(bound, exact.bound)
        if incumbent is not None and (not found or max(each.objective for each in found) < bound * (1 - self._gap)):
            kept_workers = self._with_workers(problem, incumbent.counts, stage)
            found += [] if kept_workers is None else [kept_workers]
        if found and bound == math.inf:
            relaxed = self._relaxation(problem, stage)
            bound = bound if relaxed is None else relaxed[0]
        return replace(max(found, key=lambda each: each.objective), bound=bound) if found else None

    def is_conceivable(self, problem: Problem, stage: Stage) -> bool:
        """Whether the relaxation of the stage has a solution; where it has none, there is none."""
        return self._left_s > 0 and self._relaxation(problem.pruned(), stage) is not None

    def first(self, problem: Problem, stage: Stage) -> Solution | None:
        """The first solution that comes up, with the columns that the relaxation recommends; None where none does."""
        if self._left_s <= 0:
            return None
        problem = problem.pruned()
        relaxed = self._relaxation(problem, stage)
        if relaxed is None:
            return None
        found = self._integer(problem, [c for c in problem.columns if c in relaxed[1]], stage, solutions=1)
        return replace(found[0], bound=relaxed[0]) if found else None

    def worker_prices(self, problem: Problem, stage: Stage) -> Mapping[str, float] | None:
        """By device type, the gain of the stage's objective per worker more, in the relaxation; None where unknown."""
        relaxed = self._relaxed(problem, stage)
        if relaxed is None:
            return None
        model, result = relaxed
        duals = result.dual_values()
        return {device: duals[constraint] for device, constraint in model.within_pool.items()}

    # -- inner steps ------------------------------------------------------------------------------------------

    def _spend(self, seconds: float) -> None:
        self._left_s -= seconds

    def _model(self, problem: Problem, columns: Collection[Column], *, integer: bool) -> PlacementModel:
        self._spend(BUILD_S * len(columns))
        return PlacementModel(list(columns), problem.workers, problem.demand_qps, problem.pinned, integer=integer)

    def _without_relaxation(self, problem: Problem, stage: Stage, incumbent: Solution | None) -> Solution | None:
        """Where the relaxation has no solution, or did not come about in time: the best without new pairs, unproven."""
        known = incumbent.counts if incumbent is not None else {}
        fewer = [column for column in problem.columns if column.within_s is not None or column in known]
        found = None
        if len(problem.columns) > MANY_COLUMNS and len(fewer) < len(problem.columns) and self._left_s > self._kept_s:
            found = self.maximise(replace(problem, columns=fewer), stage, incumbent)
        if found is None and incumbent is not None:
            found = self._with_workers(problem, incumbent.counts, stage)
        return None if found is None else replace(found, bound=math.inf)

    def _with_workers(self, problem: Problem, counts: Mapping[Column, int], stage: Stage) -> Solution | None:
        """The best loads for workers that are given; None where the stage cannot be met with them."""
        model = PlacementModel(list(counts), problem.workers, problem.demand_qps, integer=False)
        for column, variable in model.count.items():
            variable.lower_bound = variable.upper_bound = float(counts[column])
        result = self._solve(model, stage, mathopt.SolverType.GLOP, limit_s=None)
        if result is None:
            return None
        values = result.variable_values()
        loads = {key: max(values[variable], 0.0) for key, variable in model.load.items()}
        return Solution(counts, loads, result.objective_value(), math.inf)

    def _relaxation(self, problem: Problem, stage: Stage, part: float = 1.0) -> tuple[float, set[Column]] | None:
        """A bound, and the columns that are in the relaxed optimum or would cost it the least to take in."""
        relaxed = self._relaxed(problem, stage, part)
        if relaxed is None:
            return None
        model, result = relaxed
        values, costs = result.variable_values(), result.reduced_costs()
        loss = {column: 0.0 if values[n] > 1e-9 else -costs[n] for column, n in model.count.items()}
        for (column, use), load in model.load.items():
            loss[column] += max(-costs[load], 0.0) * use.qps if values[load] <= 1e-9 else 0.0
        order = sorted(model.count, key=lambda column: (values[model.count[column]] <= 1e-9, loss[column]))
        return result.objective_value(), set(order[:MOST_COLUMNS])

    def _relaxed(
        self, problem: Problem, stage: Stage, part: float = 1.0
    ) -> tuple[PlacementModel, mathopt.SolveResult] | None:
        """The optimum of the relaxation; None where there is none.

        None also where it is of many columns and does not come about in that ``part`` of the time.
        """
        many = len(problem.columns) > MANY_COLUMNS
        if many and (self._left_s <= 0 or len(problem.columns) > MOST_RELAXED):
            return None
        kept_s = (1 - part) * self._left_s
        model = self._model(problem, problem.columns, integer=False)
        solver = mathopt.SolverType.HIGHS if many else mathopt.SolverType.GLOP
        result = self._solve(model, stage, solver, limit_s=self._left_s - kept_s if many else None)
        if result is None or result.termination.reason != mathopt.TerminationReason.OPTIMAL:
            return None
        return model, result

    def _integer(
        self, problem: Problem, columns: Collection[Column], stage: Stage, solutions: int | None = None
    ) -> list[Solution]:
        """The best with these columns and its bound among them, in a list; an empty one where none was found.

        ``solutions`` ends the solve when so many have come up.
        """
        if self._left_s <= self._kept_s:
            return []
        model = self._model(problem, columns, integer=True)
        result = self._solve(model, stage, self._solver, limit_s=self._left_s - self._kept_s, solutions=solutions)
        if result is None:
            return []
        values = result.variable_values()
        counts = {column: n for column, variable in model.count.items() if (n := round(values[variable]))}
        exact = self._with_workers(problem, counts, stage)  # the solver's counts are whole only within its tolerance
        return [] if exact is None else [replace(exact, bound=result.best_objective_bound())]

    def _solve(
        self,
        model: PlacementModel,
        stage: Stage,
        solver: mathopt.SolverType,
        *,
        limit_s: float | None,
        solutions: int | None = None,
    ) -> mathopt.SolveResult | None:
        model.model.maximize(stage(model))
        parameters = mathopt.SolveParameters()
        if limit_s is not None:
            parameters.time_limit = timedelta(seconds=max(limit_s, 0.01))
        if solver != mathopt.SolverType.GLOP:
            parameters.relative_gap_tolerance = 0.9 * self._gap
            parameters.solution_limit = solutions
        result = mathopt.solve(model.model, solver, params=parameters)
        took_s = result.solve_time().total_seconds()
        self.solve_s += took_s
        self._spend(took_s)
        return result if result.has_primal_feasible_solution() else None

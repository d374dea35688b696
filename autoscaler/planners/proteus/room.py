"""Room for queries that come at random, bought with accuracy down to a floor: load is light most of the time, and the
accuracy that a later peak costs anyway buys room until then."""

from collections.abc import Mapping
from dataclasses import replace

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.placement_model import PlacementModel
from autoscaler.planners.proteus.search import Problem, Search, Stage
from autoscaler.planners.proteus.stages import SLACK, Staged

MOST_DEVIATIONS = 3.0
"""So much room is enough: the queries that come within an objective are seldom more than that above their mean."""

LEAST_DEVIATIONS = 0.1
"""Less than that is not worth a change."""

HALVINGS = 4
"""How often the range is cut in two: to a fifth of a deviation."""

RETREATS = (1.0, 0.9, 0.75, 0.5, 0.25)
"""What of the relaxed limit whole workers may reach, tried in turn."""


def with_room(
    problem: Problem, staged: Staged, deviation_qps: Mapping[str, float], down_to: float, search: Search
) -> Staged:
    """The plan with room for as many deviations of every endpoint's load as leave ``down_to`` of the best accuracy.

    The best is every query's answer by the most accurate variant in time. ``deviation_qps`` is by endpoint what one
    standard deviation adds to its load while an objective lasts. Endpoints have the same number of them,
    `MOST_DEVIATIONS` at most, or the room that ``staged`` has, where that is more. Where not all demand is served,
    where the plan is less accurate as it is, or where nothing better comes up in the time that the search has left, it
    stays as it is.
    """
    demand_qps = {name: qps for name, qps in problem.demand_qps.items() if name in staged.planned_qps}
    if not staged.serves_all or not demand_qps or down_to >= 1:
        return staged
    best = _best(problem)
    least = down_to * sum(best[name] * qps for name, qps in demand_qps.items())

    def planned_at(deviations: float) -> dict[str, float]:
        return {
            name: max(staged.planned_qps[name], qps + deviations * deviation_qps[name])
            for name, qps in demand_qps.items()
        }

    def accurate_at(deviations: float) -> tuple[Problem, Stage]:
        planned_qps = planned_at(deviations)

        def accuracy(model: PlacementModel) -> mathopt.LinearExpression:
            model.serve_all(1 - SLACK)
            of_demand = mathopt.fast_sum(
                [model.accuracy_of(name) * (qps / planned_qps[name]) for name, qps in demand_qps.items()]
            )
            model.model.add_linear_constraint(of_demand >= least)
            return of_demand

        return replace(problem, demand_qps=planned_qps), accuracy

    if not search.is_conceivable(*accurate_at(LEAST_DEVIATIONS)):
        return staged
    low, high = LEAST_DEVIATIONS, MOST_DEVIATIONS
    if search.is_conceivable(*accurate_at(high)):
        low = high
    else:
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if search.is_conceivable(*accurate_at(middle)) else (low, middle)
    for deviations in (low * retreat for retreat in RETREATS):
        if deviations < LEAST_DEVIATIONS or planned_at(deviations) == staged.planned_qps:
            break
        roomy, accuracy = accurate_at(deviations)
        solution = search.first(roomy, accuracy)
        if solution is not None:
            return replace(staged, solution=solution, planned_qps=roomy.demand_qps)
    return staged


def _best(problem: Problem) -> dict[str, float]:
    """By endpoint, the accuracy of its most accurate variant in time on a worker that is there."""
    best = dict.fromkeys(problem.demand_qps, 0.0)
    for column in problem.columns:
        if problem.workers.get(column.device):
            for use in column.uses:
                if use.endpoint in best:
                    best[use.endpoint] = max(best[use.endpoint], use.accuracy)
    return best

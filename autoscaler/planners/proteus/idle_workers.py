"""Workers that a plan does not need stand by: they take load off those that would be busiest."""

from collections.abc import Collection, Mapping
from math import ceil

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.burst_room import BurstRoom
from autoscaler.planners.proteus.column import Column
from autoscaler.planners.proteus.placement_model import PlacementModel, UseKey
from autoscaler.planners.proteus.search import Problem, Solution
from autoscaler.planners.proteus.stages import SLACK

ROUNDING = 1e-6
"""Of an accuracy that is a mean over few queries a second, which a solver knows to some 1e-9 of them."""


def needed(solution: Solution) -> dict[Column, int]:
    """The workers of each column that its load keeps busy, but for what is no part of its endpoint's to speak of."""
    served = solution.served_qps
    busy: dict[Column, float] = {}
    for (column, use), qps in solution.loads.items():
        if qps > SLACK * served[use.endpoint]:
            busy[column] = busy.get(column, 0.0) + qps / use.qps
    return {column: max(ceil(workers - SLACK), 1) for column, workers in busy.items()}


def with_idle_workers(
    problem: Problem, solution: Solution, devices: Collection[str], room: BurstRoom | None = None
) -> dict[Column, int]:
    """`needed`, and the rest of the workers of these device types where they relieve the busiest endpoint.

    Each joins the endpoint whose workers are busiest, with the most accurate variant that its device has for it, where
    that is no less accurate than what the endpoint has on average. What pins workers to endpoints keeps doing so. With
    ``room`` for bursts all workers of the solution are needed, and the busiest endpoint is the one that would be in a
    burst.
    """
    counts = needed(solution) if room is None else dict(solution.counts)
    served = solution.served_qps
    summed: dict[str, float] = {}
    for (_, use), qps in solution.loads.items():
        summed[use.endpoint] = summed.get(use.endpoint, 0.0) + qps * use.accuracy
    used = {use.endpoint for column in counts for use in column.uses}
    mean = {name: summed[name] / qps for name, qps in served.items() if qps > 0 and name in used}
    capacity = dict.fromkeys(mean, 0.0)
    each_qps = _planned_qps if room is None else room.of_worker
    for column, count in counts.items():
        for name, qps in each_qps(column).items():
            if name in capacity:
                capacity[name] += count * qps
    within_s = {
        (column.device, use.endpoint): column.within_s
        for column in counts
        for use in column.uses
        if column.within_s is not None
    }
    options: dict[str, dict[str, Column]] = {}
    for column in problem.columns:
        if column.within_s is None or any(
            within_s.get((column.device, use.endpoint), column.within_s) != column.within_s for use in column.uses
        ):
            continue
        for use in column.uses:
            if use.accuracy >= mean.get(use.endpoint, 2.0) - ROUNDING:
                best = options.setdefault(column.device, {}).get(use.endpoint)
                if best is None or use.accuracy > _accuracy(best, use.endpoint):
                    options[column.device][use.endpoint] = column
    placed: dict[tuple[str, str], int] = {}
    for column, count in counts.items():
        for use in column.uses:
            placed[column.device, use.endpoint] = placed.get((column.device, use.endpoint), 0) + count
    for device in devices:
        for _ in range(
            problem.workers[device] - sum(count for column, count in counts.items() if column.device == device)
        ):
            open_to = [
                name
                for name, column in options.get(device, {}).items()
                if problem.pinned is None or _has_room(problem.pinned, placed, column, problem.demand_qps)
            ]
            if not open_to:
                break
            busiest = max(open_to, key=lambda name: served[name] / capacity[name])
            column = options[device][busiest]
            counts[column] = counts.get(column, 0) + 1
            for use in column.uses:
                placed[device, use.endpoint] = placed.get((device, use.endpoint), 0) + 1
            for name, qps in each_qps(column).items():
                if name in capacity:
                    capacity[name] += qps
    return counts


def _has_room(
    pinned: Mapping[tuple[str, str], int],
    placed: Mapping[tuple[str, str], int],
    column: Column,
    demanded: Collection[str],
) -> bool:
    """Whether one more worker may serve every endpoint that it would serve with this column."""
    keys = [(column.device, use.endpoint) for use in column.uses if use.endpoint in demanded]
    return all(placed.get(key, 0) < pinned.get(key, 0) for key in keys)


def _planned_qps(column: Column) -> dict[str, float]:
    """What one worker of a column bears of each endpoint as planned."""
    found: dict[str, float] = {}
    for use in column.uses:
        found[use.endpoint] = found.get(use.endpoint, 0.0) + use.qps / len(column.uses)
    return found


def _accuracy(column: Column, endpoint: str) -> float:
    return next(use.accuracy for use in column.uses if use.endpoint == endpoint)


def evenly(problem: Problem, counts: Mapping[Column, int], solution: Solution) -> Mapping[UseKey, float]:
    """Loads as even as each endpoint's accuracy allows: its busiest workers are as idle as can be."""
    model = PlacementModel(list(counts), problem.workers, problem.demand_qps, integer=False)
    for column, variable in model.count.items():
        variable.lower_bound = variable.upper_bound = float(counts[column])
    kept = {key: qps for key, qps in solution.loads.items() if key[0] in counts}
    served = dict.fromkeys(problem.demand_qps, 0.0)
    summed = dict.fromkeys(problem.demand_qps, 0.0)
    for (_, use), qps in kept.items():
        served[use.endpoint] += qps
        summed[use.endpoint] += qps * use.accuracy
    busiest = {name: model.model.add_variable(lb=0.0, ub=1.0) for name in model.served}
    for name, expression in model.served.items():
        model.model.add_linear_constraint(expression >= served[name] * (1 - SLACK))
        model.model.add_linear_constraint(model.accuracy_of(name) >= summed[name] * (1 - SLACK))
    for column in model.count:
        uses = [use for use in column.uses if (column, use) in model.load]
        busy = mathopt.fast_sum([model.load[column, use] / use.qps for use in uses])
        for use in uses:
            model.model.add_linear_constraint(busy <= counts[column] * busiest[use.endpoint])
    model.model.minimize(mathopt.fast_sum([problem.demand_qps[name] * most for name, most in busiest.items()]))
    result = mathopt.solve(model.model, mathopt.SolverType.GLOP)
    if not result.has_primal_feasible_solution():
        return kept
    values = result.variable_values()
    least = {name: SLACK / 10 * qps for name, qps in problem.demand_qps.items()}
    return {key: qps for key, variable in model.load.items() if (qps := values[variable]) > least[key[1].endpoint]}

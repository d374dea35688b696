"""Room for bursts where workers hold fallback variants: what every endpoint's workers bear with their fastest."""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.burst_room import BurstRoom
from autoscaler.planners.proteus.column import Column
from autoscaler.planners.proteus.idle_workers import needed
from autoscaler.planners.proteus.placement_model import PlacementModel
from autoscaler.planners.proteus.search import Problem, Search, Solution, Stage
from autoscaler.planners.proteus.stages import SLACK, Staged

MOST = 10.0
"""Workers are shared out for bursts of so many times the demand at most. At little load that costs next to nothing, and
a load that jumps to seven times what it was loses a quarter of what it loses with four times."""

HALVINGS = 6
"""How often the range is cut in two: 10 ** (1 / 2 ** 6) is 1.04."""

RETREATS = (0.96, 0.9, 0.8, 0.65)
"""What of the relaxed limit whole workers may reach, tried in turn."""

TOLERANCE_TIMES = 2.0
"""So many times the tolerance for room with planned variants may be given up for room with the fastest: every query of
a burst that is not lost is worth more than that."""

LIMIT_PART = 0.2
"""The part of a solve's time limit that is left for this."""


def with_burst_room(problem: Problem, staged: Staged, tolerance: float, search: Search, room: BurstRoom) -> Staged:
    """The plan whose workers are shared out for large bursts, at the cost of at most ``tolerance`` of accuracy.

    Bursts are of all endpoints alike, up to `MOST` times ``problem``'s demand. The relaxation says how large they may
    be, and the first whole numbers of workers a little below that are taken, as in `with_headroom`. What the plan has
    room for with its planned variants stays as it is. Where not all demand is served, or nothing better comes up in the
    time that the search has left, so does the plan. In any case the counts of its solution are without workers that
    neither the load nor a burst needs.
    """
    as_it_is = replace(staged, solution=replace(staged.solution, counts=needed(staged.solution)))
    total_qps = sum(staged.planned_qps.values())
    if not staged.serves_all or not total_qps or tolerance <= 0:
        return as_it_is
    least = sum(use.accuracy * qps for (_, use), qps in staged.solution.loads.items()) - tolerance * total_qps
    planned = replace(problem, demand_qps=staged.planned_qps)

    def bearing(times: float) -> Stage:
        def accuracy(model: PlacementModel) -> mathopt.LinearExpression:
            model.serve_all(1 - SLACK)
            model.model.add_linear_constraint(model.total_accuracy >= least)
            room.require(model, _times(problem, times))
            return model.total_accuracy

        return accuracy

    low, high = 1.0, MOST
    if search.is_conceivable(planned, bearing(MOST)):
        low = MOST
    for _ in range(HALVINGS if low < MOST else 0):
        middle = sqrt(low * high)
        low, high = (middle, high) if search.is_conceivable(planned, bearing(middle)) else (low, middle)
    before = room.of_workers(staged.solution.counts)
    for times in (low * retreat for retreat in RETREATS):
        least_qps = _times(problem, times)
        if all(before.get(name, 0.0) >= qps for name, qps in least_qps.items()):
            break
        found = search.first(planned, bearing(times))
        if found is not None:
            return replace(staged, solution=replace(found, counts=_trimmed(found, room, least_qps)))
    return as_it_is


def _times(problem: Problem, times: float) -> dict[str, float]:
    return {name: qps * times for name, qps in problem.demand_qps.items()}


def _trimmed(solution: Solution, room: BurstRoom, least_qps: Mapping[str, float]) -> dict[Column, int]:
    """Without workers that neither their load nor a burst needs: a solver may leave any number of them."""
    counts = dict(solution.counts)
    busy = needed(solution)
    borne = room.of_workers(counts)
    for column in sorted(counts, key=lambda column: sum(use.accuracy for use in column.uses)):
        own = room.of_worker(column)
        while counts[column] > busy.get(column, 0) and all(
            borne[name] - qps >= least_qps.get(name, 0.0) for name, qps in own.items()
        ):
            counts[column] -= 1
            for name, qps in own.items():
                borne[name] -= qps
    return {column: count for column, count in counts.items() if count}

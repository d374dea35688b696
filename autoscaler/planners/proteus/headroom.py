"""Room for more queries where it costs next to no accuracy: bursts that fit are served while the next plan is made."""

from dataclasses import replace
from math import sqrt

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.placement_model import PlacementModel
from autoscaler.planners.proteus.search import Problem, Search, Stage
from autoscaler.planners.proteus.stages import SLACK, Staged

MOST = 4.0
"""A plan has room for so many times its load at most: shares mean little far from what they were made for."""

LEAST = 1.04
"""Less than that is not worth a change."""

HALVINGS = 5
"""How often the range is cut in two: 4 ** (1 / 2 ** 5) is 1.04."""

RETREATS = (0.98, 0.94, 0.88)
"""What of the relaxed limit whole workers may reach, tried in turn."""


def with_headroom(problem: Problem, staged: Staged, tolerance: float, search: Search) -> Staged:
    """The plan with room for as many times its load as cost at most ``tolerance`` of effective accuracy (0 to 1).

    All endpoints' loads grow alike. The relaxation says how far they may, and the first whole numbers of workers a
    little below that are taken: what counts is room, not the last digit of it. Where not all demand is served, or
    nothing better comes up in the time that the search has left, the plan stays as it is.
    """
    planned_qps = staged.planned_qps
    total_qps = sum(planned_qps.values())
    if not staged.serves_all or not total_qps or tolerance <= 0:
        return staged
    least = sum(use.accuracy * qps for (_, use), qps in staged.solution.loads.items()) / total_qps - tolerance

    def accurate_at(factor: float) -> tuple[Problem, Stage]:
        def accuracy(model: PlacementModel) -> mathopt.LinearExpression:
            model.serve_all(1 - SLACK)
            model.model.add_linear_constraint(model.total_accuracy >= least * total_qps * factor)
            return model.total_accuracy

        more_qps = {name: qps * factor for name, qps in planned_qps.items()}
        return replace(problem, demand_qps=more_qps), accuracy

    low, high = 1.0, MOST
    for _ in range(HALVINGS):
        middle = sqrt(low * high)
        low, high = (middle, high) if search.is_conceivable(*accurate_at(middle)) else (low, middle)
    for factor in (low * retreat for retreat in RETREATS):
        if factor < LEAST:
            break
        ample, accuracy = accurate_at(factor)
        solution = search.first(ample, accuracy)
        if solution is not None:
            return replace(staged, solution=solution, planned_qps=ample.demand_qps)
    return staged

"""The order of objectives: serve the most, keep room in hand, be fair where asked, then be as accurate as possible."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.column import fastest
from autoscaler.planners.proteus.placement_model import PlacementModel
from autoscaler.planners.proteus.search import Problem, Search, Solution, Stage

SLACK = 1e-6
"""How much of an earlier stage's result, relative to it, a later stage may give up: more than a solver's tolerance."""


@dataclass(frozen=True)
class Objectives:
    """What a plan is for.

    ``margin_qps`` is by endpoint what the plan should have room for beyond the demand, as far as that goes without
    shedding; where not all of it fits, every endpoint gets the same part. ``fair`` puts the endpoint that is worst off
    first (Proteus, section 7). Where not all can be served, ``even`` serves the same part of every endpoint's demand,
    as large as it goes, before anything more; else the most queries are served, which are the cheap ones. ``prices`` is
    by device type per worker, in accuracy times queries per second: what a worker must bring to be worth its price.
    ``worker_cost`` is by device type what a worker costs in the end, where several choices are equally accurate and
    accuracy has no price.
    """

    margin_qps: Mapping[str, float] = field(default_factory=dict)
    fair: bool = False
    even: bool = False
    prices: Mapping[str, float] = field(default_factory=dict)
    worker_cost: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Staged:
    """The last stage's solution, for the demand and what there is room for of the margins, which is ``planned_qps``.

    No plan can serve more than ``most_qps`` of that; ``even_share`` is the part of its demand that every endpoint is
    served at least, where that was asked for. ``gap`` is the larger of those of what is served and of accuracy.
    """

    solution: Solution
    planned_qps: Mapping[str, float]
    serves_all: bool
    most_qps: float
    gap: float
    even_share: float = 0.0


def solve(problem: Problem, objectives: Objectives, search: Search) -> Staged | None:
    """Solve the stages in turn; None where the search's time was up before there was an answer."""
    quick = replace(problem, columns=fastest(problem.columns))
    margin_qps = objectives.margin_qps
    margin_share = 1.0
    served = search.maximise(_with(quick, margin_qps, 1.0), _served, None)
    serves_all = served is not None and _is_all(served, _with(quick, margin_qps, 1.0))
    if not serves_all:
        if any(margin_qps.values()):
            margin_share = 0.0
            served = search.maximise(quick, _served, None)
        if served is not None and not _is_all(served, quick) and served.bound >= _total(quick) * (1 - SLACK):
            served = search.maximise(quick, _all_served, None, part=0.5) or served
        serves_all = served is not None and _is_all(served, quick)
        if serves_all and any(margin_qps.values()):
            ample = _with(quick, margin_qps, 1.0)
            with_margin = search.maximise(ample, _headroom(problem.demand_qps, margin_qps, 1.0), served)
            if with_margin is not None:
                served, margin_share = with_margin, max(0.0, with_margin.objective - SLACK)
    if served is None:
        return None
    planned = _with(problem, margin_qps, margin_share)
    most_qps = _total(planned) if serves_all else min(served.bound, _total(planned))
    gap = 0.0 if serves_all else served.gap
    even_share = 0.0
    if objectives.even and not serves_all:
        shared = search.maximise(quick, _even, served, part=0.5)
        if shared is not None:
            even_share = shared.objective * (1 - SLACK)
            served = search.maximise(quick, _served_beyond(even_share), shared, part=0.5) or shared
            gap = max(gap, shared.gap)
    best = _best(search, planned, served, objectives, serves_all=serves_all, even_share=even_share)
    return (
        None if best is None else Staged(best, planned.demand_qps, serves_all, most_qps, max(best.gap, gap), even_share)
    )


def _even(model: PlacementModel) -> mathopt.LinearExpression:
    """The part of its demand that every endpoint is served at least."""
    share = model.model.add_variable(lb=0.0, ub=1.0)
    for name, served in model.served.items():
        model.model.add_linear_constraint(served >= model.demand_qps[name] * share)
    return mathopt.LinearSum([share])


def _served_beyond(even_share: float) -> Stage:
    def stage(model: PlacementModel) -> mathopt.LinearExpression:
        model.serve_all(even_share * (1 - SLACK))
        return model.total_served

    return stage


def _with(problem: Problem, margin_qps: Mapping[str, float], margin_share: float) -> Problem:
    """The same with that part of the margins as demand."""
    demand_qps = {name: qps + margin_share * margin_qps.get(name, 0.0) for name, qps in problem.demand_qps.items()}
    return replace(problem, demand_qps=demand_qps)


def _served(model: PlacementModel) -> mathopt.LinearExpression:
    return model.total_served


def _all_served(model: PlacementModel) -> mathopt.LinearExpression:
    """Whether nobody need go short: an endpoint of little demand is lost in the gap of what all are served."""
    model.serve_all(1 - SLACK)
    return model.total_served


def _total(problem: Problem) -> float:
    return sum(problem.demand_qps.values())


def _is_all(served: Solution, problem: Problem) -> bool:
    of_endpoint = dict.fromkeys(problem.demand_qps, 0.0)
    for (_, use), qps in served.loads.items():
        of_endpoint[use.endpoint] += qps
    return all(of_endpoint[name] >= qps * (1 - SLACK) - 1e-9 for name, qps in problem.demand_qps.items())


def largest_headroom(problem: Problem, gap: float = 1e-3, limit_s: float = 10.0) -> float:
    """How many times the demand can be served, within that gap; 0 where one endpoint cannot be served at all."""
    fastest_qps = sum(
        workers * max((u.qps for c in problem.columns if c.device == device for u in c.uses), default=0.0)
        for device, workers in problem.workers.items()
    )
    most = fastest_qps / sum(problem.demand_qps.values())
    quick = replace(problem, columns=fastest(problem.columns))
    ample = _with(quick, problem.demand_qps, most)
    solution = Search(gap, limit_s).maximise(
        ample, _headroom(dict.fromkeys(problem.demand_qps, 0.0), problem.demand_qps, most), None
    )
    return 0.0 if solution is None else solution.objective


def _headroom(demand_qps: Mapping[str, float], margin_qps: Mapping[str, float], most: float) -> Stage:
    """Which part of the margins can be served on top of the demand."""

    def stage(model: PlacementModel) -> mathopt.LinearExpression:
        part = model.model.add_variable(lb=0.0, ub=most)
        for name, served in model.served.items():
            served_qps = demand_qps[name] + margin_qps.get(name, 0.0) * part
            model.model.add_linear_constraint(served >= served_qps)
        return mathopt.LinearSum([part])

    return stage


def _best(
    search: Search, problem: Problem, served: Solution, objectives: Objectives, *, serves_all: bool, even_share: float
) -> Solution | None:
    """Fairness where it is asked for, then accuracy, without serving less."""

    def keep(model: PlacementModel) -> None:
        if serves_all:
            model.serve_all(1 - SLACK)
        else:
            model.serve_at_least(sum(served.loads.values()) * (1 - SLACK))
            if even_share:
                model.serve_all(even_share * (1 - 2 * SLACK))

    incumbent = served
    least = 0.0
    if objectives.fair:

        def fairness(model: PlacementModel) -> mathopt.LinearExpression:
            keep(model)
            least_accuracy = model.model.add_variable(lb=0.0, ub=1.0)
            _at_least(model, least_accuracy, problem.most_qps.keys())
            return mathopt.LinearSum([least_accuracy])

        fair = search.maximise(problem, fairness, incumbent)
        if fair is not None:
            incumbent, least = fair, fair.objective * (1 - SLACK)

    def accuracy(model: PlacementModel) -> mathopt.LinearExpression:
        keep(model)
        if least:
            _at_least(model, least, problem.most_qps.keys())
        price = [
            objectives.prices[column.device] * count
            for column, count in model.count.items()
            if column.device in objectives.prices
        ]
        return model.total_accuracy - mathopt.fast_sum(price)

    best = search.maximise(problem, accuracy, incumbent)
    if best is None or not objectives.worker_cost:
        return best

    def economy(model: PlacementModel) -> mathopt.LinearExpression:
        model.model.add_linear_constraint(accuracy(model) >= best.objective * (1 - SLACK))
        return mathopt.fast_sum(
            [-objectives.worker_cost.get(column.device, 0.0) * n for column, n in model.count.items()]
        )

    cheap = search.maximise(problem, economy, best)
    return best if cheap is None else replace(best, counts=cheap.counts, loads=cheap.loads)


def _at_least(model: PlacementModel, accuracy: mathopt.LinearTypes, servable: Collection[str]) -> None:
    """No endpoint has less accuracy per query of its demand, what is shed counting as 0.

    Those that nobody can serve are left out, or the others would have no fairness among them.
    """
    for name in model.served.keys() & servable:
        model.model.add_linear_constraint(model.accuracy_of(name) >= model.demand_qps[name] * accuracy)

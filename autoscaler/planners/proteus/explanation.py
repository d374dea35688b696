"""What limits a plan, in words."""

from collections.abc import Mapping
from dataclasses import replace

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.idle_workers import needed
from autoscaler.planners.proteus.placement_model import PlacementModel, UseKey
from autoscaler.planners.proteus.search import Problem, Search
from autoscaler.planners.proteus.stages import SLACK, Staged


def explain(
    problem: Problem, staged: Staged, ample: Staged, loads: Mapping[UseKey, float], search: Search
) -> tuple[str, ...]:
    """Sentences on what is shed, who is less accurate than could be, and which workers would help.

    ``problem`` has endpoints that cannot be served, too. ``staged`` is what the others' demand takes, ``ample`` what
    the plan has room for; ``loads`` are what its workers get of that. What another worker would bring is left out where
    ``search`` has no time left to find out.
    """
    served = dict.fromkeys(problem.demand_qps, 0.0)
    summed = dict.fromkeys(problem.demand_qps, 0.0)
    for (_, use), qps in loads.items():
        served[use.endpoint] += qps
        summed[use.endpoint] += qps * use.accuracy
    mean = {name: summed[name] / qps for name, qps in served.items() if qps > 0}
    return (_load(problem, ample, served), *_accuracies(problem, mean), *_pools(problem, staged, search))


def _load(problem: Problem, staged: Staged, served: Mapping[str, float]) -> str:
    demand_qps = sum(problem.demand_qps.values())
    if not demand_qps:
        return "Nothing is asked for: no worker is needed."
    servable_qps = sum(problem.demand_qps[name] for name in staged.planned_qps)
    more = f"with room for {sum(staged.planned_qps.values()) / servable_qps - 1:.0%} more." if servable_qps else ""
    if staged.serves_all and staged.planned_qps.keys() == problem.demand_qps.keys():
        return f"All {_figure(demand_qps)} queries/s are served, in batches that are in time behind another, {more}"
    short = [
        f"{name} {1 - served[name] / qps:.1%}"
        for name, qps in problem.demand_qps.items()
        if served[name] < qps * (1 - 1e-3)
    ]
    least = 1 - min(staged.most_qps, servable_qps) / demand_qps
    proven = f"no plan sheds less than {least:.1%}" if least > SLACK else "a plan that sheds nothing was not ruled out"
    shed = 1 - sum(min(qps, problem.demand_qps[name]) for name, qps in served.items()) / demand_qps
    words = f"{shed:.1%} of {_figure(demand_qps)} queries/s are shed, {proven}: "
    words += f"{', '.join(short) or 'a little of every endpoint'}."
    if staged.serves_all and more:
        words += f" The other endpoints are served, {more}"
    if staged.even_share:
        words += f" Every endpoint that can be served is, to {staged.even_share:.1%} at least."
    return words


def _figure(qps: float) -> str:
    return f"{qps:.0f}" if qps >= 10 else f"{qps:.2g}"


def _accuracies(problem: Problem, mean: Mapping[str, float]) -> list[str]:
    lines = []
    for name in problem.demand_qps:
        uses = [u for c in problem.columns if problem.workers.get(c.device) for u in c.uses if u.endpoint == name]
        best = max((use.accuracy for use in uses), default=0.0)
        if not uses:
            lines.append(
                f"{name} is not served: no variant of it is in time behind another and fits a worker's memory."
            )
        elif name in mean and mean[name] < best - 1e-4:
            lines.append(f"{name} answers with {mean[name]:.2%} on average; its best variant in time has {best:.2%}.")
    return lines


def _pools(problem: Problem, staged: Staged, search: Search) -> list[str]:
    """Pools that are used up, with what another worker would bring: the shadow price of the relaxation."""
    busy = needed(staged.solution)
    prices = _shadow_prices(problem, staged, search)
    total_qps = max(sum(staged.planned_qps.values()), 1e-12)
    lines = []
    for device, workers in problem.workers.items():
        used = sum(count for column, count in busy.items() if column.device == device)
        if used < workers:
            lines.append(f"{device}: {used} of {workers} workers are needed.")
        elif workers and prices is None:
            lines.append(f"{device}: all {workers} workers are needed.")
        elif workers and prices is not None:
            points = prices.get(device, 0.0) / total_qps * 100
            what = "of accuracy" if staged.serves_all else "more of the demand served"
            gain = f"about {points:.2g} points {what}" if points > 1e-6 else "nothing but what whole numbers cost"
            lines.append(f"{device}: all {workers} workers are needed; one more would bring {gain}.")
    return lines


def _shadow_prices(problem: Problem, staged: Staged, search: Search) -> Mapping[str, float] | None:
    """By device type, the gain of the objective that binds (accuracy, or what is served) per worker more."""

    def binding(model: PlacementModel) -> mathopt.LinearExpression:
        if not staged.serves_all:
            return model.total_served
        model.serve_all(1 - SLACK)
        return model.total_accuracy

    return search.worker_prices(replace(problem, demand_qps=staged.planned_qps), binding)

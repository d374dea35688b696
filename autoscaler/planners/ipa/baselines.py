"""What IPA is compared with (section 5.1), and a newer competitor, each solved by the same exact program."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Literal

from autoscaler.planners.ipa.choices import Restriction
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem, Workers
from autoscaler.planners.ipa.solution import Solution
from autoscaler.planners.ipa.solver import solve
from catalog.errors import ConfigError

NO_LIMITS = Workers()


def fa2(
    problem: PipelineProblem,
    variants: Literal["low", "high"] | Mapping[str, str],
    options: IpaOptions,
    workers: Workers = NO_LIMITS,
) -> Solution:
    """FA2: the variants are fixed; batch sizes and replicas are those of the least cost.

    ``low`` is the least accurate of each stage and ``high`` the most accurate. The paper could not afford the latter
    and took models that on average are more accurate than IPA's (footnote 1): name them by stage.
    """
    if variants == "low" or variants == "high":
        choose = min if variants == "low" else max
        fixed = {
            stage.name: choose(stage.options, key=lambda option: option.candidate.accuracy).candidate.variant
            for stage in problem.stages
        }
    else:
        fixed = dict(variants)
        for stage in problem.stages:
            known = [option.candidate.variant for option in stage.options]
            if fixed.get(stage.name) not in known:
                raise ConfigError(
                    f"FA2's variant of stage {stage.name!r} is {fixed.get(stage.name)!r}; "
                    f"name one of {', '.join(known)}"
                )
    only = {problem.name: {stage: (variant,) for stage, variant in fixed.items()}}
    return solve((problem,), replace(options, alpha=0.0, beta=1.0, several=False), workers, Restriction(variants=only))


def rim(problem: PipelineProblem, replicas: int, options: IpaOptions, workers: Workers = NO_LIMITS) -> Solution:
    """RIM with batching: every stage has so many ``replicas``; variants and batch sizes are the most accurate."""
    if replicas < 1:
        raise ConfigError(f"RIM has {replicas} replicas per stage; give it a number from 1")
    return solve(
        (problem,), replace(options, alpha=1.0, beta=0.0, several=False), workers, Restriction(replicas=replicas)
    )


def loki(problem: PipelineProblem, cost_limit: float, options: IpaOptions, workers: Workers = NO_LIMITS) -> Solution:
    """Loki's order (HPDC 2024): hardware as long as there is some, then accuracy.

    The most accurate pipeline that bears the load for ``cost_limit`` at most, at the least cost that this accuracy
    takes: while the most accurate variants can be afforded only replicas grow with the load, then accuracy falls. What
    cannot be borne at all is shed, as little as can be.
    """
    if not 0 < cost_limit < inf:
        raise ConfigError(f"Loki's cost limit is {cost_limit:g}; give a number above 0")
    within = Restriction(cost_limit=cost_limit)
    accurate = solve((problem,), replace(options, alpha=1.0, beta=0.0, delta=0.0, several=False), workers, within)
    if not accurate.pipelines:
        return accurate
    reached = accurate.pipelines[problem.name]
    cheapest = solve(
        (replace(problem, load_qps=reached.served_qps),),
        replace(options, alpha=0.0, beta=1.0, several=False),
        workers,
        replace(within, least_accuracy={problem.name: reached.accuracy}),
    )
    if not cheapest.pipelines:
        return accurate
    return replace(cheapest, solve_s=accurate.solve_s + cheapest.solve_s)

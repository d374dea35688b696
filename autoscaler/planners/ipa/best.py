"""The plan with the largest objective (equation 8) at a load that can be borne."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from ortools.math_opt.python import mathopt

from autoscaler.planners.ipa.choices import Choice, PipelineChoices, Restriction, undominated
from autoscaler.planners.ipa.problem import IpaOptions, Workers
from autoscaler.planners.ipa.program import SCALE, Answer, Clock, Program, Taken

ROUNDING = 1e-9
"""Of accuracies that a solver adds up."""


@dataclass(frozen=True)
class Best:
    """``answer`` holds the solver's word, ``objective`` is equation 8 of what it takes, added up anew."""

    answer: Answer
    objective: float = 0.0


def worth(choice: Choice, options: IpaOptions) -> float:
    """What a choice adds to the objective (equation 8)."""
    return options.alpha * choice.accuracy - options.beta * choice.cost - options.delta * choice.batch_rows


def accuracy_of_taken(pipeline: PipelineChoices, taken: Sequence[Choice]) -> float:
    """As the objective has it."""
    if pipeline.accuracy.combinations is not None:
        return pipeline.accuracy.combinations[tuple(choice.variant for choice in taken)]
    return sum(choice.accuracy for choice in taken)


def objective(pipelines: Sequence[PipelineChoices], taken: Taken, options: IpaOptions) -> float:
    """Equation 8, over all pipelines."""
    total = 0.0
    for pipeline, own in zip(pipelines, taken, strict=True):
        total += options.alpha * accuracy_of_taken(pipeline, own)
        total -= sum(options.beta * choice.cost + options.delta * choice.batch_rows for choice in own)
    return total


def best(
    pipelines: Sequence[PipelineChoices],
    options: IpaOptions,
    workers: Workers,
    restriction: Restriction,
    clock: Clock,
) -> Best:
    """Solve 9a to 9e for all pipelines at once, over the choices that can be part of a best plan."""
    kept = [_kept(pipeline, options, workers, restriction) for pipeline in pipelines]
    if not all(choices for pipeline in kept for choices in pipeline.stages):
        return Best(Answer(None, infeasible=True))
    program = Program(kept)
    program.keep_within()
    program.bound_replicas(
        [
            [
                [choice.replicas * x for choice, x in zip(choices, variables, strict=True)]
                for choices, variables in zip(pipeline.stages, stages, strict=True)
            ]
            for pipeline, stages in zip(kept, program.taken, strict=True)
        ],
        workers,
        restriction.cost_limit,
    )
    terms = []
    for pipeline, stages, combinations in zip(kept, program.taken, program.combinations, strict=True):
        pairs = [(c, x) for own, xs in zip(pipeline.stages, stages, strict=True) for c, x in zip(own, xs, strict=True)]
        terms += [worth(choice, options) * x for choice, x in pairs]
        measured = pipeline.accuracy.combinations or {}
        terms += [options.alpha * measured[each] * z for each, z in combinations.items()]
        if pipeline.problem.name in restriction.least_accuracy:
            reached = [c.accuracy * x for c, x in pairs] + [measured[each] * z for each, z in combinations.items()]
            program.model.add_linear_constraint(
                mathopt.fast_sum(reached) >= restriction.least_accuracy[pipeline.problem.name] - ROUNDING
            )
    program.model.maximize(SCALE * mathopt.fast_sum(terms))
    answer = program.solve(clock)
    answer = replace(answer, objective=answer.objective / SCALE, bound=answer.bound / SCALE)
    return Best(answer, 0.0 if answer.taken is None else objective(kept, answer.taken, options))


def _kept(
    pipeline: PipelineChoices, options: IpaOptions, workers: Workers, restriction: Restriction
) -> PipelineChoices:
    """The pipeline without choices that some other choice can always stand for.

    That other one is worth no less, takes no longer, and needs no more of what is limited: workers of each device type,
    the cost, and where a least accuracy is asked for that. Measured accuracies are of variants together: there a choice
    stands for others of its own variant only.
    """
    limited = sorted(workers.limits)
    stages = []
    for choices in pipeline.stages:
        able = [
            choice
            for choice in choices
            if choice.latency_s <= pipeline.slo_s * (1 + 1e-6)
            and choice.replicas <= workers.limit(choice.option.device)
            and choice.cost <= restriction.cost_limit * (1 + 1e-6)
        ]
        columns = [[worth(choice, options), -choice.latency_s] for choice in able]
        for choice, row in zip(able, columns, strict=True):
            row += [-choice.replicas if device == choice.option.device else 0 for device in limited]
            row += [-choice.cost, choice.accuracy]
            if restriction.cost_limit == float("inf"):
                row[-2] = 0.0
            if not restriction.least_accuracy:
                row[-1] = 0.0
        groups = [choice.variant for choice in able] if pipeline.accuracy.combinations is not None else None
        stages.append(undominated(able, np.array(columns), groups))
    return replace(pipeline, stages=tuple(stages))

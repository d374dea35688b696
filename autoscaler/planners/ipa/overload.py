"""What is planned where nothing serves all in time: the least delay, then the most of the load."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np
from ortools.math_opt.python import mathopt

from autoscaler.planners.ipa.accuracy import PipelineAccuracy
from autoscaler.planners.ipa.choices import TOLERANCE, PipelineChoices, Restriction, choices_of, undominated
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem, Workers
from autoscaler.planners.ipa.program import Answer, Clock, Program

Counts = list[list[list[mathopt.LinearTypes]]]


@dataclass(frozen=True)
class Served:
    """The ``part`` of the load that is borne in time, ``proven`` where no larger one can be."""

    part: float
    proven: bool


def least_limits_s(
    pipelines: Sequence[PipelineProblem],
    accuracies: Sequence[PipelineAccuracy],
    options: IpaOptions,
    workers: Workers,
    restriction: Restriction,
    clock: Clock,
) -> list[float] | Answer:
    """By pipeline its objective, or where that cannot be met by any choice what the fastest takes; else why not.

    Several that compete for the fastest workers get the least overrun in sum, in parts of their objectives. There is
    none where stages outnumber workers, or replicas cost too much, and where a stage has nothing eligible.
    """
    choices = [
        choices_of(pipeline, accuracy, options, restriction, any_replicas=True)
        for pipeline, accuracy in zip(pipelines, accuracies, strict=True)
    ]
    if not all(own for pipeline in choices for own in pipeline.stages):
        return Answer(None, infeasible=True)
    kept = [_fast(pipeline) for pipeline in choices]
    program = Program(kept)
    overrun = [program.model.add_variable(lb=0.0) for _ in kept]
    program.keep_within(overrun)
    program.bound_replicas(_once(program, restriction.replicas or 1), workers, restriction.cost_limit)
    program.model.minimize(mathopt.fast_sum(overrun))
    answer = program.solve(clock, in_time=False)
    if answer.taken is None:
        return answer
    limits_s = []
    for pipeline, own in zip(kept, answer.taken, strict=True):
        stages = pipeline.problem.stages
        total_s, _ = longest_path(stages, {s.name: c.latency_s for s, c in zip(stages, own, strict=True)})
        limits_s.append(total_s if total_s > pipeline.slo_s * (1 + TOLERANCE) else pipeline.slo_s)
    return limits_s


def largest_served(
    pipelines: Sequence[PipelineProblem],
    accuracies: Sequence[PipelineAccuracy],
    limits_s: Sequence[float],
    options: IpaOptions,
    workers: Workers,
    restriction: Restriction,
    clock: Clock,
) -> Served | Answer:
    """The largest part of the load, the same of all pipelines, that can be borne in time; else why there is none.

    What can be borne with given waits for batches to fill is an integer program. Waits grow as less is served
    (equation 7), so that with those of a load from above its optimum is from above too; at that load waits are longer,
    and so on down, until a solution is in time at its own load. Each step rules out a solution, so that this ends, and
    nothing larger was ever left out. A step takes half of the time that is left at most, and with what it found by then
    nothing is proven: the other half is for the plan at that load.
    """
    served, proven = 1.0, True
    while True:
        choices = [
            replace(
                choices_of(pipeline, accuracy, options, restriction, served=served, any_replicas=True), slo_s=limit_s
            )
            for pipeline, accuracy, limit_s in zip(pipelines, accuracies, limits_s, strict=True)
        ]
        kept = [_fast(pipeline) for pipeline in choices]
        if not all(own for pipeline in kept for own in pipeline.stages):
            return Answer(None, infeasible=True)
        program = Program(kept)
        program.keep_within()
        counts = _counts(program, workers, restriction)
        program.bound_replicas(counts, workers, restriction.cost_limit)
        part = program.model.add_variable(lb=0.0, ub=1.0)
        for pipeline, stages in zip(kept, counts, strict=True):
            for load_qps, own, replicas in zip(pipeline.load_qps, pipeline.stages, stages, strict=True):
                if load_qps > 0:
                    borne = [c.qps / load_qps * n for c, n in zip(own, replicas, strict=True)]
                    program.model.add_linear_constraint(mathopt.fast_sum(borne) >= part)
        program.model.maximize(part)
        step = Clock(clock.left_s / 2)
        answer = program.solve(step)
        clock.spend(step.spent_s)
        if answer.taken is None:
            return answer
        proven = proven and answer.proven
        lower = served * min(1.0, _borne(kept, counts, program, answer))
        if _in_time(kept, answer, lower / served):
            return Served(lower, proven)
        served = lower


# -- inner steps ----------------------------------------------------------------------------------------------


def _fast(pipeline: PipelineChoices) -> PipelineChoices:
    """Without choices that another one of the same device type beats in latency, throughput and cost of a replica."""
    stages = []
    for choices in pipeline.stages:
        goods = np.array([[-c.latency_s, c.qps, -c.option.cost] for c in choices])
        measured = pipeline.accuracy.combinations is not None
        groups = [(c.option.device, c.variant if measured else "") for c in choices]
        stages.append(undominated(choices, goods, groups))
    return replace(pipeline, stages=tuple(stages))


def _once(program: Program, replicas: int) -> Counts:
    return [[[replicas * x for x in own] for own in stages] for stages in program.taken]


def _counts(program: Program, workers: Workers, restriction: Restriction) -> Counts:
    """A whole number of replicas for each choice, at least one of what is taken."""
    if restriction.replicas is not None:
        return _once(program, restriction.replicas)
    found: Counts = []
    for pipeline, stages in zip(program.pipelines, program.taken, strict=True):
        found.append([])
        for load_qps, choices, variables in zip(pipeline.load_qps, pipeline.stages, stages, strict=True):
            found[-1].append([])
            for choice, x in zip(choices, variables, strict=True):
                most = max(ceil(load_qps / choice.qps), 1)
                if workers.limit(choice.option.device) < inf:
                    most = min(most, int(workers.limit(choice.option.device)))
                n = program.model.add_integer_variable(lb=0, ub=most)
                program.model.add_linear_constraint(n >= x)
                program.model.add_linear_constraint(n <= most * x)
                found[-1][-1].append(n)
    return found


def _borne(pipelines: Sequence[PipelineChoices], counts: Counts, program: Program, answer: Answer) -> float:
    """Which part of the loads the replicas of a solution bear."""
    assert answer.taken is not None
    least = 1.0
    for pipeline, stages, taken in zip(pipelines, counts, answer.taken, strict=True):
        for load_qps, choices, replicas, own in zip(pipeline.load_qps, pipeline.stages, stages, taken, strict=True):
            if load_qps > 0:
                n = replicas[choices.index(own)]
                count = round(mathopt.evaluate_expression(n, answer.values))
                least = min(least, count * own.qps / load_qps)
    return least


def _in_time(pipelines: Sequence[PipelineChoices], answer: Answer, part: float) -> bool:
    """Whether a solution keeps the limits where only that part of the loads arrives, and batches fill more slowly."""
    assert answer.taken is not None
    for pipeline, own in zip(pipelines, answer.taken, strict=True):
        stages = pipeline.problem.stages
        latency_s = {s.name: c.run_s + c.wait_s / part for s, c in zip(stages, own, strict=True)}
        if longest_path(stages, latency_s)[0] > pipeline.slo_s * (1 + TOLERANCE):
            return False
    return True

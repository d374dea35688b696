"""IPA's integer program (formulation 9), solved to a proven optimum."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from autoscaler.cluster.plan import Status
from autoscaler.planners.ipa.accuracy import PipelineAccuracy, accuracy_of
from autoscaler.planners.ipa.best import Best, accuracy_of_taken, best
from autoscaler.planners.ipa.choices import Choice, PipelineChoices, Restriction, choices_of
from autoscaler.planners.ipa.explanation import explain, explain_shares, without_plan
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.overload import largest_served, least_limits_s
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem, Workers
from autoscaler.planners.ipa.program import SCALE, Answer, Clock
from autoscaler.planners.ipa.several import Mixed, solve_several
from autoscaler.planners.ipa.solution import Active, PipelineSolution, Solution
from catalog.errors import ConfigError

PROVEN_GAP = 1e-6
"""Up to here a plan is called optimal: rounding of the solver, and less than what one row of a batch costs."""

EVERYTHING = Restriction()
NO_LIMITS = Workers()


def solve(
    pipelines: Sequence[PipelineProblem],
    options: IpaOptions,
    workers: Workers = NO_LIMITS,
    restriction: Restriction = EVERYTHING,
) -> Solution:
    """Choose variant, batch size and replicas for every stage of every pipeline (IPA, formulation 9).

    Each stage takes one of its choices of variant, device type and batch size (9d), a binary variable each. All that
    follows from a choice is a number: replicas n, the least with n h >= load (9c), cost n R, throughput h = b / l(b)
    (`Candidate.cycle_s` in place of l where batches follow before results are there), run l(b) and wait
    q = (b - 1) / load (equation 7). So the program is linear, and exact. What the paper leaves open:

    - Stages are a DAG, and 9b holds along its longest path. For a sequence that is the sum of the paper.
    - The load of a stage, in 9c and in equation 7, is the pipeline's times the stage's jobs per query.
    - Where nothing arrives a stage has one replica and batches of one row.
    - Several pipelines are planned at once; the objective is the sum of theirs, and ``workers`` limits all replicas of
      a device type together. Without limits pipelines do not touch each other.
    - Variants of equal accuracy share a rank, and a single one counts 1 (section 4.1).
    - Where no plan bears the load in time, as much of it is served as can be, the same part of each pipeline. Those
      that can be served whole without others getting less are, one after the other, and the objective is the best at
      that load. A pipeline that no choice serves in time gets its fastest, and says so. Half of the time is for finding
      how much that is: where it is up before that is proven the plan is no more than feasible, and has no gap.

    With ``options.several`` a stage may have several active variants with shares of its load (`several`); accuracies
    are then means over the jobs.

    ``restriction`` is for systems that choose less. Without any plan, for there are fewer workers than stages or the
    time was up, the status is ``NO_ANSWER``, ``pipelines`` is empty, and ``explanation`` says which it was. Raises
    `ConfigError` for pipelines of the same name and for accuracies that are not there.
    """
    names = [pipeline.name for pipeline in pipelines]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"pipeline {name!r} is there {names.count(name)} times; give it once")
    accuracies = [accuracy_of(pipeline, options.accuracy) for pipeline in pipelines]
    clock = Clock(options.time_limit_s)
    if options.several:
        if restriction != EVERYTHING:
            raise ConfigError("several active variants go with no restriction; give options with several=False")
        mixed = solve_several(pipelines, accuracies, options, workers, clock)
        return _mixed(pipelines, accuracies, options, workers, clock, *mixed)

    def at(served: Sequence[float], limits_s: Sequence[float]) -> tuple[list[PipelineChoices], Best]:
        choices = [
            replace(choices_of(pipeline, accuracy, options, restriction, served=part), slo_s=limit_s)
            for pipeline, accuracy, part, limit_s in zip(pipelines, accuracies, served, limits_s, strict=True)
        ]
        return choices, best(choices, options, workers, restriction, clock)

    def with_whole(
        served: list[float], limits_s: Sequence[float], choices: list[PipelineChoices], found: Best
    ) -> tuple[list[float], list[PipelineChoices], Best]:
        for number in range(len(pipelines)):
            more = [*served[:number], 1.0, *served[number + 1 :]]
            with_more = at(more, limits_s)
            if with_more[1].answer.taken is not None:
                served, (choices, found) = more, with_more
        return served, choices, found

    served, limits_s = [1.0] * len(pipelines), [pipeline.slo_s for pipeline in pipelines]
    most_served = True
    choices, found = at(served, limits_s)
    if found.answer.taken is None and found.answer.infeasible:
        least_s = least_limits_s(pipelines, accuracies, options, workers, restriction, clock)
        if isinstance(least_s, Answer):
            return _nothing(pipelines, accuracies, options, workers, restriction, least_s, clock)
        if least_s != limits_s:
            limits_s = least_s
            choices, found = at(served, limits_s)
        if found.answer.taken is None and found.answer.infeasible:
            most = largest_served(pipelines, accuracies, limits_s, options, workers, restriction, clock)
            if isinstance(most, Answer):
                return _nothing(pipelines, accuracies, options, workers, restriction, most, clock)
            served, most_served = [most.part] * len(pipelines), most.proven
            choices, found = at(served, limits_s)
            if len(pipelines) > 1:
                served, choices, found = with_whole(served, limits_s, choices, found)
    if found.answer.taken is None:
        return _nothing(pipelines, accuracies, options, workers, restriction, found.answer, clock)
    gap = max(found.answer.bound - found.objective, 0.0) / max(abs(found.objective), 1e-9)
    return Solution(
        Status.OPTIMAL if most_served and (found.answer.proven or gap <= PROVEN_GAP) else Status.FEASIBLE,
        gap if most_served else None,
        found.objective,
        clock.spent_s,
        {
            pipeline.problem.name: _solution(pipeline, taken, part)
            for pipeline, taken, part in zip(choices, found.answer.taken, served, strict=True)
        },
        explain(choices, found.answer.taken, options, workers, restriction, served),
    )


def _mixed(
    pipelines: Sequence[PipelineProblem],
    accuracies: Sequence[PipelineAccuracy],
    options: IpaOptions,
    workers: Workers,
    clock: Clock,
    choices: Sequence[PipelineChoices],
    found: Mixed,
    served: float,
) -> Solution:
    if found.shares is None:
        return _nothing(pipelines, accuracies, options, workers, EVERYTHING, found.answer, clock)
    solutions = {}
    objective = 0.0
    for pipeline, shares in zip(choices, found.shares, strict=True):
        stages = {
            stage.name: tuple(_active(replace(each.choice, replicas=each.replicas), each.share) for each in own)
            for stage, own in zip(pipeline.problem.stages, shares, strict=True)
        }
        every = [each for own in stages.values() for each in own]
        latency_s = {name: max(each.run_s + each.wait_s for each in own) for name, own in stages.items()}
        accuracy = sum(each.choice.accuracy * each.share for own in shares for each in own)
        cost = sum(each.cost for each in every)
        objective += options.alpha * accuracy - options.beta * cost
        objective -= options.delta * sum(each.batch_rows for each in every)
        longest_s, _ = longest_path(pipeline.problem.stages, latency_s)
        served_qps = served * pipeline.problem.load_qps
        solutions[pipeline.problem.name] = PipelineSolution(stages, accuracy, cost, longest_s, served_qps)
    gap = max(found.answer.bound / SCALE - objective, 0.0) / max(abs(objective), 1e-9)
    status = Status.OPTIMAL if found.answer.proven or gap <= PROVEN_GAP else Status.FEASIBLE
    words = explain_shares(pipelines, solutions, workers, served)
    return Solution(status, gap, objective, clock.spent_s, solutions, words)


def _solution(pipeline: PipelineChoices, taken: Sequence[Choice], served: float) -> PipelineSolution:
    stages = pipeline.problem.stages
    latency_s, _ = longest_path(stages, {s.name: c.latency_s for s, c in zip(stages, taken, strict=True)})
    return PipelineSolution(
        stages={stage.name: (_active(choice),) for stage, choice in zip(stages, taken, strict=True)},
        accuracy=accuracy_of_taken(pipeline, taken),
        cost=sum(choice.cost for choice in taken),
        latency_s=latency_s,
        served_qps=served * pipeline.problem.load_qps,
    )


def _active(choice: Choice, share: float = 1.0) -> Active:
    return Active(
        variant=choice.variant,
        device=choice.option.device,
        batch_rows=choice.batch_rows,
        replicas=choice.replicas,
        cost=choice.cost,
        run_s=choice.run_s,
        wait_s=choice.wait_s,
        capacity_qps=choice.replicas * choice.qps,
        share=share,
    )


def _nothing(
    pipelines: Sequence[PipelineProblem],
    accuracies: Sequence[PipelineAccuracy],
    options: IpaOptions,
    workers: Workers,
    restriction: Restriction,
    answer: Answer,
    clock: Clock,
) -> Solution:
    words = f"No answer within {options.time_limit_s:g} s of solver time: "
    words += "have fewer variants to choose from, or fewer pipelines that share a device type."
    if answer.infeasible:
        words = without_plan(pipelines, accuracies, workers, restriction)
    return Solution(Status.NO_ANSWER, None, -inf, clock.spent_s, {}, (words,), answer.infeasible)

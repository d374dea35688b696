"""A plan for the cluster from what is active in every stage, and who holds it."""

from collections.abc import Mapping, Sequence
from math import prod

from autoscaler.cluster.plan import ClusterPlan, SolveReport, StageChoice
from autoscaler.planners.ipa.latency import remaining_s
from autoscaler.planners.ipa.placement.assignment import Named
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem
from autoscaler.planners.ipa.solution import Active
from dispatch.query import StageKey


def cluster_plan(
    problems: Sequence[PipelineProblem],
    active: Mapping[StageKey, Active],
    borne_qps: Mapping[str, float],
    named: Named,
    options: IpaOptions,
    report: SolveReport,
) -> ClusterPlan:
    """All endpoints balance themselves among the workers that hold what they ask for.

    ``borne_qps`` is what is borne of every load; a pipeline with a stage that is not ``active`` serves nothing.
    """
    demand_qps, served_qps, capacity_qps, accuracy = {}, {}, {}, {}
    stages = {}
    for problem in problems:
        own = {
            stage.name: active[key] for stage in problem.stages if (key := StageKey(problem.name, stage.name)) in active
        }
        whole = len(own) == len(problem.stages)
        demand_qps[problem.name] = problem.load_qps
        served_qps[problem.name] = borne_qps[problem.name] if whole else 0.0
        capacity_qps[problem.name] = _capacity_qps(problem, own) if whole else 0.0
        if served_qps[problem.name] > 0:
            accuracy[problem.name] = _accuracy(problem, own, options)
        stages[problem.name] = _choices(problem, own)
    return ClusterPlan(
        held=named.held,
        demand_qps=demand_qps,
        served_qps=served_qps,
        capacity_qps=capacity_qps,
        accuracy=accuracy,
        pool_sizes=named.sizes,
        own_balancing=frozenset(demand_qps),
        stages=stages,
        report=report,
    )


def _choices(problem: PipelineProblem, own: Mapping[str, Active]) -> dict[str, StageChoice]:
    """By stage how it is served.

    ``after_s`` has the runs of later stages in it and not their waits for batches to fill: a batch need not fill, and a
    query that is out of time for waiting still has time to be run. What may be waited is each stage's own ``wait_s``;
    with these and all runs the plan is within the objective.
    """
    after_s = remaining_s(
        problem.stages, {stage.name: own[stage.name].run_s if stage.name in own else 0.0 for stage in problem.stages}
    )
    return {
        stage.name: StageChoice(
            variants={each.variant: each.batch_rows},
            workers=each.replicas,
            cost=each.cost,
            load_qps=problem.load_qps * stage.jobs_per_query,
            run_s=each.run_s,
            wait_s=each.wait_s,
            after_s=after_s[stage.name],
        )
        for stage in problem.stages
        if (each := own.get(stage.name)) is not None
    }


def _capacity_qps(problem: PipelineProblem, own: Mapping[str, Active]) -> float:
    """Queries that the stage with the least room bears."""
    return min(own[stage.name].capacity_qps / stage.jobs_per_query for stage in problem.stages if stage.jobs_per_query)


def _accuracy(problem: PipelineProblem, own: Mapping[str, Active], options: IpaOptions) -> float:
    """From 0 to 1: what was measured of the pipeline, where that is the objective, else the product of all stages'."""
    variants = tuple(own[stage.name].variant for stage in problem.stages)
    if options.accuracy == "measured" and variants in problem.measured_accuracy:
        return problem.measured_accuracy[variants]
    return prod(
        next(o.candidate.accuracy for o in stage.options if o.candidate.variant == variant)
        for stage, variant in zip(problem.stages, variants, strict=True)
    )

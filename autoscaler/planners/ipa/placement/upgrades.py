"""More accurate variants beside the planned ones, which run while a stage has time to spare."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.placement.assignment import needs_of
from autoscaler.planners.ipa.problem import PipelineProblem, StageProblem
from autoscaler.planners.ipa.solution import Active, PipelineSolution
from dispatch.query import ONLY_STAGE, StageKey


def upgrades(stage: StageProblem, active: Active) -> tuple[str, ...]:
    """The variants that are more accurate than the active one on its device type, for a replica that costs no more.

    The most accurate first. With them a replica needs more memory, and not more of what its cost counts.
    """
    own = [option for option in stage.options if option.device == active.device]
    planned = next(option for option in own if option.candidate.variant == active.variant)
    better = [
        option.candidate
        for option in own
        if option.candidate.accuracy > planned.candidate.accuracy and option.cost <= planned.cost
    ]
    return tuple(each.variant for each in sorted(better, key=lambda each: (-each.accuracy, each.variant)))


def upgraded(problem: PipelineProblem, solution: PipelineSolution) -> PipelineSolution:
    """The solution with replicas that hold all `upgrades` of their stage ``also``."""
    stages = {
        stage.name: tuple(replace(each, also=upgrades(stage, each)) for each in solution.stages[stage.name])
        for stage in problem.stages
    }
    return replace(solution, stages=stages)


def with_upgrades(
    cluster: Cluster,
    observation: Observation,
    problems: Sequence[PipelineProblem],
    active: Mapping[StageKey, Active],
    plan: ClusterPlan,
) -> ClusterPlan:
    """The plan with `upgrades` on the workers of every stage, loaded behind what is planned, as far as memory goes.

    It is an extension: the paper's replicas run one variant. Workers may stand by for other stages, so that a batch of
    an upgrade takes no longer than leaves each pipeline in time with one in front of each of its stages. Endpoints of
    one task select by themselves and get none.
    """
    by_name = {problem.name: problem for problem in problems}
    longest_s = min((_beyond_s(problem, active) for problem in problems), default=0.0)
    wanted: dict[str, list[frozenset[str]]] = {}
    for key, own in active.items():
        if key.stage == ONLY_STAGE:
            continue
        problem = by_name[key.endpoint]
        (stage,) = (each for each in problem.stages if each.name == key.stage)
        for variant in upgrades(stage, own):
            candidate = next(o.candidate for o in stage.options if o.candidate.variant == variant)
            if candidate.latency_s[1] <= longest_s:
                wanted.setdefault(own.variant, []).append(needs_of(by_name, key, variant))
    limits_bytes = {pool.device: pool.memory_bytes for pool in cluster.pools}
    beside: dict[str, tuple[str, ...]] = {}
    for worker, held in plan.held.items():
        device = observation.devices.get(worker, worker.rpartition("+")[0])
        left_bytes = limits_bytes.get(device, inf) - sum(cluster.memory_bytes.get(name, 0) for name in held)
        more: list[str] = []
        for planned in sorted(held):
            for needs in wanted.get(planned, ()):
                missing = sorted(needs - held - set(more))
                needed_bytes = sum(cluster.memory_bytes.get(name, 0) for name in missing)
                if needed_bytes <= left_bytes:
                    left_bytes -= needed_bytes
                    more += missing
        if more:
            beside[worker] = tuple(more)
    stages = {
        name: {stage: replace(choice, beyond_s=longest_s) for stage, choice in own.items()}
        for name, own in plan.stages.items()
    }
    return replace(plan, fallback=beside, stages=stages)


def _beyond_s(problem: PipelineProblem, active: Mapping[StageKey, Active]) -> float:
    """How long every stage may wait once more with the pipeline still within its objective."""
    latency_s = {
        stage.name: own.wait_s + own.run_s
        for stage in problem.stages
        for own in [active[StageKey(problem.name, stage.name)]]
    }
    total_s, _ = longest_path(problem.stages, latency_s)
    most_stages, _ = longest_path(problem.stages, dict.fromkeys(latency_s, 1.0))
    return max(problem.slo_s - total_s, 0.0) / most_stages

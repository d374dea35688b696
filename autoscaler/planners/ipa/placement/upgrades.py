"""Variants beside the planned ones: more accurate for a stage with time to spare, faster for one that is behind."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import inf

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.placement.assignment import needs_of
from autoscaler.planners.ipa.problem import PipelineProblem, StageProblem
from autoscaler.planners.ipa.solution import Active, PipelineSolution
from dispatch.query import ONLY_STAGE, StageKey
from dispatch.selection.policy import Candidate


def upgrades(stage: StageProblem, variant: str, device: str) -> tuple[Candidate, ...]:
    """What is more accurate than the planned ``variant`` on a device type, for a replica that costs no more.

    The next better first: it is the one that there is time for most often. With them a replica needs more memory, and
    not more of what its cost counts.
    """
    better = [each for own, each in _no_dearer(stage, variant, device) if each.accuracy > own.accuracy]
    return tuple(sorted(better, key=lambda each: (each.accuracy, each.variant)))


def faster(stage: StageProblem, own: Active, device: str) -> tuple[Candidate, ...]:
    """What is faster than the planned variant in its batches on a device type, for a replica that costs no more; the
    fastest first, which is what a burst takes, or a worker's death. None where it cannot run such batches there."""
    rows = own.batch_rows
    found = [
        each
        for planned, each in _no_dearer(stage, own.variant, device)
        if min(planned.max_batch, each.max_batch) >= rows and each.latency_s[rows] < planned.latency_s[rows]
    ]
    return tuple(sorted(found, key=lambda each: (each.latency_s[rows], each.variant)))


def _no_dearer(stage: StageProblem, variant: str, device: str) -> list[tuple[Candidate, Candidate]]:
    """The planned variant beside each whose replica costs no more on the device type; empty where it is not there."""
    here = {option.candidate.variant: option for option in stage.options if option.device == device}
    planned = here.get(variant)
    if planned is None:
        return []
    return [(planned.candidate, option.candidate) for option in here.values() if option.cost <= planned.cost]


def upgraded(problem: PipelineProblem, solution: PipelineSolution, most: int) -> PipelineSolution:
    """The solution with replicas that hold up to ``most`` `upgrades` of their stage ``also``."""

    def also(stage: StageProblem, own: Active) -> tuple[str, ...]:
        return tuple(each.variant for each in upgrades(stage, own.variant, own.device)[:most])

    stages = {
        stage.name: tuple(replace(own, also=also(stage, own)) for own in solution.stages[stage.name])
        for stage in problem.stages
    }
    return replace(solution, stages=stages)


def with_upgrades(
    cluster: Cluster,
    observation: Observation,
    problems: Sequence[PipelineProblem],
    active: Mapping[StageKey, Active],
    plan: ClusterPlan,
    most: int,
    fallback_most: int,
) -> ClusterPlan:
    """The plan with up to ``most`` `upgrades` of each stage on the workers that hold it, loaded behind what is planned,
    and before them up to ``fallback_most`` that are `faster`.

    As far as memory goes, by turns for the stages of a worker. It is an extension: the paper's replicas run one
    variant. Where workers stand by for other stages, a batch of an upgrade takes no longer than leaves each pipeline in
    time with one in front of each of its stages. Endpoints of one task select by themselves: they get none, and what
    they might select is nobody's upgrade. Where measured accuracies are planned with, an upgrade must have raised that.
    """
    if not most and not fallback_most:
        return plan
    by_name = {problem.name: problem for problem in problems}
    runs = {key: needs_of(by_name, key, own.variant) for key, own in active.items()}
    keys = {worker: [key for key in active if runs[key] <= held] for worker, held in plan.held.items()}
    alone = all(len(own) <= 1 for own in keys.values())
    longest_s = None if alone else min(_beyond_s(problem, active) for problem in problems)
    taken = {o.candidate.variant for p in problems for s in p.stages if s.name == ONLY_STAGE for o in s.options}

    def wanted(key: StageKey, device: str) -> list[frozenset[str]]:
        if key.stage == ONLY_STAGE:
            return []
        problem = by_name[key.endpoint]
        (stage,) = (each for each in problem.stages if each.name == key.stage)
        spare = [frozenset(each.needs) for each in faster(stage, active[key], device) if taken.isdisjoint(each.needs)]
        return (
            spare[:fallback_most]
            + [
                frozenset(each.needs)
                for each in upgrades(stage, active[key].variant, device)
                if each.latency_s[1] <= (inf if longest_s is None else longest_s)
                and taken.isdisjoint(each.needs)
                and _measures_better(problem, active, stage.name, each.variant)
            ][:most]
        )

    limits_bytes = {pool.device: pool.memory_bytes for pool in cluster.pools}
    fallback: dict[str, tuple[str, ...]] = {}
    for worker, held in plan.held.items():
        device = observation.devices.get(worker, worker.rpartition("+")[0])
        left_bytes = limits_bytes.get(device, inf) - _needed_bytes(cluster, held)
        more: list[str] = []
        for turn in zip_longest(*(wanted(key, device) for key in keys[worker]), fillvalue=frozenset()):
            for needs in turn:
                missing = sorted(needs - held - set(more))
                if _needed_bytes(cluster, missing) <= left_bytes:
                    left_bytes -= _needed_bytes(cluster, missing)
                    more += missing
        if more:
            fallback[worker] = tuple(more)
    holders = {key: sum(key in own for own in keys.values()) for key in active}
    stages = {
        name: {
            stage: replace(
                choice, beyond_s=longest_s, worker_share=_share(choice.workers, holders[StageKey(name, stage)])
            )
            for stage, choice in own.items()
        }
        for name, own in plan.stages.items()
    }
    return replace(plan, fallback=fallback, stages=stages)


def _share(workers: int, holders: int) -> float:
    return min(workers / holders, 1.0) if holders else 1.0


def _needed_bytes(cluster: Cluster, variants: Sequence[str] | frozenset[str]) -> float:
    return sum(cluster.memory_bytes.get(variant, 0) for variant in variants)


def _measures_better(problem: PipelineProblem, active: Mapping[StageKey, Active], stage: str, variant: str) -> bool:
    """Whether the pipeline as planned measured less than with this variant in that stage; true without measurements."""
    if not problem.measured_accuracy:
        return True
    planned = {each.name: active[StageKey(problem.name, each.name)].variant for each in problem.stages}
    before, after = tuple(planned.values()), tuple((planned | {stage: variant}).values())
    measured = problem.measured_accuracy
    return before in measured and after in measured and measured[after] > measured[before]


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

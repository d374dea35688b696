"""Pipelines that compete for no worker, planned apart, and their plans put together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.planners.ipa.problem import PipelineProblem, Workers

STATUSES = (Status.OPTIMAL, Status.FEASIBLE, Status.HEURISTIC)
"""Of plans, the most that is proven first."""


@dataclass(frozen=True)
class Component:
    """Pipelines, in their order, with the workers that their variants may run on."""

    pipelines: tuple[PipelineProblem, ...]
    workers: Workers


def components(pipelines: Sequence[PipelineProblem], workers: Workers) -> tuple[Component, ...]:
    """The connected components of the pipelines, joined where two have variants for one device type with workers.

    At least one, without pipelines where there are none. Device types that no variant is for are with the first.
    """
    found: list[tuple[list[int], set[str]]] = []
    for number, pipeline in enumerate(pipelines):
        devices = {option.device for stage in pipeline.stages for option in stage.options}
        there = {device for device in devices if workers.limit(device) > 0}
        joined = [each for each in found if not there.isdisjoint(each[1])]
        numbers = [other for each in joined for other in each[0]]
        found = [each for each in found if each not in joined]
        found.append(([*numbers, number], devices.union(*(each[1] for each in joined))))
    found = sorted((sorted(numbers), devices) for numbers, devices in found) or [([], set())]
    found[0][1].update(workers.limits.keys() - set().union(*(devices for _, devices in found)))
    return tuple(
        Component(
            tuple(pipelines[number] for number in numbers),
            Workers({device: limit for device, limit in workers.limits.items() if device in devices}),
        )
        for numbers, devices in found
    )


def together(plans: Sequence[ClusterPlan]) -> ClusterPlan:
    """One plan of those of all components; its gap is the largest, and None where one of them proves nothing."""
    whole = plans[0]
    for plan in plans[1:]:
        gaps = (whole.report.gap, plan.report.gap)
        whole = replace(
            whole,
            report=SolveReport(
                max(whole.report.status, plan.report.status, key=STATUSES.index),
                None if None in gaps else max(gap for gap in gaps if gap is not None),
                whole.report.solve_s + plan.report.solve_s,
                tuple(dict.fromkeys((*whole.report.explanation, *plan.report.explanation))),
            ),
            held={**whole.held, **plan.held},
            demand_qps={**whole.demand_qps, **plan.demand_qps},
            served_qps={**whole.served_qps, **plan.served_qps},
            capacity_qps={**whole.capacity_qps, **plan.capacity_qps},
            accuracy={**whole.accuracy, **plan.accuracy},
            pool_sizes={**whole.pool_sizes, **plan.pool_sizes},
            own_balancing=whole.own_balancing | plan.own_balancing,
            stages={**whole.stages, **plan.stages},
            fallback={**whole.fallback, **plan.fallback},
        )
    return whole

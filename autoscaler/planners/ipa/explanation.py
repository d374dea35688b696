"""What binds a plan, in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from autoscaler.planners.ipa.accuracy import PipelineAccuracy
from autoscaler.planners.ipa.best import accuracy_of_taken, worth
from autoscaler.planners.ipa.choices import TOLERANCE, Choice, PipelineChoices, Restriction
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem, Workers
from autoscaler.planners.ipa.program import Taken
from autoscaler.planners.ipa.solution import PipelineSolution


def explain(
    pipelines: Sequence[PipelineChoices],
    taken: Taken,
    options: IpaOptions,
    workers: Workers,
    restriction: Restriction,
    served: Sequence[float],
) -> tuple[str, ...]:
    """By pipeline where its time goes, and by stage why the next better variant was not taken.

    The other stages are taken as they are planned: what is said of a variant is what would follow from this one change.
    """
    used: dict[str, int] = {}
    for own in taken:
        for choice in own:
            used[choice.option.device] = used.get(choice.option.device, 0) + choice.replicas
    cost = sum(choice.cost for own in taken for choice in own)
    room = _Room(used, workers, cost, restriction.cost_limit, options, restriction.replicas)
    lines: list[str] = []
    for pipeline, own, part in zip(pipelines, taken, served, strict=True):
        names = [stage.name for stage in pipeline.problem.stages]
        latency_s = {name: choice.latency_s for name, choice in zip(names, own, strict=True)}
        lines += _times(pipeline.problem, latency_s, sum(choice.cost for choice in own), part)
        lines += _stages(pipeline, own, restriction, room)
    return (*lines, *_limits_used(used, workers))


def explain_shares(
    problems: Sequence[PipelineProblem],
    solutions: Mapping[str, PipelineSolution],
    workers: Workers,
    served: float,
) -> tuple[str, ...]:
    """By pipeline where its time goes and who answers what, where stages may have several active variants."""
    lines: list[str] = []
    used: dict[str, int] = {}
    for problem in problems:
        own = solutions[problem.name]
        latency_s = {name: max(a.run_s + a.wait_s for a in active) for name, active in own.stages.items()}
        lines += _times(problem, latency_s, own.cost, served)
        for name, active in own.stages.items():
            for each in active:
                used[each.device] = used.get(each.device, 0) + each.replicas
            if len(active) > 1:
                shares = ", ".join(f"{each.variant} {each.share:.0%}" for each in active)
                lines.append(f"{problem.name}{f', {name}' if name else ''}: {shares} of the jobs.")
    return (*lines, *_limits_used(used, workers))


def without_plan(
    pipelines: Sequence[PipelineProblem],
    accuracies: Sequence[PipelineAccuracy],
    workers: Workers,
    restriction: Restriction,
) -> str:
    """Why no stage-by-stage plan exists at any load."""
    for pipeline, accuracy in zip(pipelines, accuracies, strict=True):
        only = restriction.variants.get(pipeline.name, {})
        eligible = {stage.name: only.get(stage.name, accuracy.by_stage[stage.name]) for stage in pipeline.stages}
        words = unservable(pipeline, workers, eligible)
        if words is not None:
            return words
    stages = sum(len(pipeline.stages) for pipeline in pipelines)
    devices = {option.device for p in pipelines for stage in p.stages for option in stage.options}
    limit = sum(workers.limit(device) for device in devices)
    needed = stages * (restriction.replicas or 1)
    if limit < needed:
        return f"{stages} stages need {needed} workers of their own, and there may be {limit:.0f}: add workers."
    if restriction.cost_limit < inf:
        return f"One worker for each of {stages} stages costs more than {restriction.cost_limit:g}: raise the limit."
    return f"The workers that there may be ({_limits(workers)}) do not suffice for one per stage: add workers."


def unservable(
    pipeline: PipelineProblem, workers: Workers, only: Mapping[str, Collection[str]] | None = None
) -> str | None:
    """Which stage of a pipeline no worker can run, with ``only`` some of its variants eligible; None where all can."""
    for stage in pipeline.stages:
        eligible = [o for o in stage.options if only is None or o.candidate.variant in only[stage.name]]
        if not any(workers.limit(option.device) for option in eligible):
            devices = ", ".join(sorted({option.device or "any device" for option in eligible})) or "none"
            name = f"Stage {stage.name!r} of {pipeline.name}" if stage.name else pipeline.name
            return f"{name} has no worker that can run it (devices of its variants: {devices}): add one."
    return None


# -- inner steps ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Room:
    """What the whole plan uses, and may use."""

    used: Mapping[str, int]
    workers: Workers
    cost: float
    cost_limit: float
    options: IpaOptions
    replicas: int | None

    def missing(self, new: Choice, old: Choice) -> float:
        """Workers of the new choice's device type that would be too few."""
        device = new.option.device
        freed = old.replicas if old.option.device == device else 0
        return self.used.get(device, 0) - freed + new.replicas - self.workers.limit(device)

    def affords(self, new: Choice, old: Choice) -> bool:
        """Whether the cost stays within its limit."""
        return self.cost - old.cost + new.cost <= self.cost_limit * (1 + TOLERANCE)


def _limits_used(used: Mapping[str, int], workers: Workers) -> Iterator[str]:
    for device, limit in sorted(workers.limits.items()):
        count = used.get(device, 0)
        yield f"{device or 'workers'}: {'all' if count == limit else f'{count} of'} {limit} workers are needed."


def _times(problem: PipelineProblem, latency_s: Mapping[str, float], cost: float, served: float) -> Iterator[str]:
    total_s, path = longest_path(problem.stages, latency_s)
    if served < 1 and problem.load_qps > 0:
        yield (
            f"{problem.name}: {served:.1%} of {problem.load_qps:.3g} queries/s can be borne in time, "
            "no plan within the limits bears more."
        )
    if len(path) == 1:
        along = f"{latency_s[path[0]]:.3g} s"
    else:
        along = f"{total_s:.3g} s ({', '.join(f'{name or problem.name} {latency_s[name]:.3g}' for name in path)})"
    if total_s > problem.slo_s * (1 + TOLERANCE):
        yield f"{problem.name} cannot be answered within {problem.slo_s:.3g} s: its fastest choice takes {along}."
    else:
        paid = f", at a cost of {cost:.3g}" if cost else ""
        yield f"{problem.name}: {along} of {problem.slo_s:.3g} s at worst{paid}."


def _stages(pipeline: PipelineChoices, own: Sequence[Choice], restriction: Restriction, room: _Room) -> Iterator[str]:
    """Why each stage does not have its next better variant."""
    problem = pipeline.problem
    now = accuracy_of_taken(pipeline, own)
    for number, stage in enumerate(problem.stages):
        only = restriction.variants.get(problem.name, {}).get(stage.name)
        better: dict[str, float] = {}
        for variant in pipeline.accuracy.by_stage[stage.name]:
            reached = _accuracy_with(pipeline, own, number, variant)
            if reached is not None and reached > now and (only is None or variant in only):
                better[variant] = reached
        if better:
            variant = min(better, key=lambda name: (better[name], name))
            reason = _reason(pipeline, own, number, variant, better[variant] - now, room)
            yield f"{problem.name}{f', {stage.name}' if stage.name else ''}: {variant} {reason}."


def _accuracy_with(pipeline: PipelineChoices, own: Sequence[Choice], number: int, variant: str) -> float | None:
    """The pipeline's accuracy with another variant in one stage; None where it is not eligible."""
    if pipeline.accuracy.combinations is not None:
        combination = tuple(variant if i == number else choice.variant for i, choice in enumerate(own))
        return pipeline.accuracy.combinations.get(combination)
    of_variant = pipeline.accuracy.by_stage[pipeline.problem.stages[number].name]
    return accuracy_of_taken(pipeline, own) - of_variant[own[number].variant] + of_variant[variant]


def _reason(
    pipeline: PipelineChoices, own: Sequence[Choice], number: int, variant: str, more_accurate: float, room: _Room
) -> str:
    """Why a variant was not taken instead: no time, no workers, no budget, or not worth its cost."""
    stages, old = pipeline.problem.stages, own[number]
    choices = [choice for choice in pipeline.stages[number] if choice.variant == variant]
    if not choices:
        return f"would be more accurate, and does not bear the load with {room.replicas} replicas"
    path_s = {}
    for choice in choices:
        latency_s = {
            s.name: (choice if i == number else c).latency_s for i, (s, c) in enumerate(zip(stages, own, strict=True))
        }
        path_s[choice] = longest_path(stages, latency_s)[0]
    in_time = [choice for choice in choices if path_s[choice] <= pipeline.slo_s * (1 + TOLERANCE)]
    if not in_time:
        return (
            f"would be more accurate, and takes the path to at least {min(path_s.values()):.3g} s "
            f"of {pipeline.slo_s:.3g} s"
        )
    there = [choice for choice in in_time if room.missing(choice, old) <= 0]
    if not there:
        least = min(in_time, key=lambda choice: room.missing(choice, old))
        device = least.option.device
        return (
            f"would be more accurate, and needs {room.missing(least, old):.0f} more workers"
            f"{f' of {device}' if device else ''} than there may be"
        )
    affordable = [choice for choice in there if room.affords(choice, old)]
    if not affordable:
        least = min(there, key=lambda choice: choice.cost)
        return (
            f"would be more accurate, and costs {least.cost - old.cost:.3g} more, which is above the limit "
            f"of {room.cost_limit:.3g} for all"
        )
    new = max(affordable, key=lambda choice: worth(choice, room.options))
    more_cost = new.cost - old.cost
    counts = room.options.beta * more_cost + room.options.delta * (new.batch_rows - old.batch_rows)
    return (
        f"would bring {more_accurate:.3g} more accuracy for {more_cost:.3g} more cost: "
        f"that counts {room.options.alpha * more_accurate:.3g} against {counts:.3g}"
    )


def _limits(workers: Workers) -> str:
    return ", ".join(f"{limit} of {device or 'any device'}" for device, limit in sorted(workers.limits.items()))

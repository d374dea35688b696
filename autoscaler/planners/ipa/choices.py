"""The choices that each stage of a pipeline has at its load: an option and a batch size, with all that follows."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np

from autoscaler.planners.ipa.accuracy import PipelineAccuracy
from autoscaler.planners.ipa.problem import IpaOptions, Option, PipelineProblem, StageProblem

TOLERANCE = 1e-9
"""Relative: by so much the constraints of a plan may be off, where it is checked in floating point."""


@dataclass(frozen=True)
class Choice:
    """A stage's option in batches of one size; I and b of section 4.3.

    ``accuracy`` is a of equation 8. A batch takes ``run_s``, its first job waits ``wait_s`` for it to fill, and one
    replica bears ``qps`` jobs per second. ``replicas`` of them bear the stage's load.
    """

    option: Option
    accuracy: float
    batch_rows: int
    run_s: float
    wait_s: float
    qps: float
    replicas: int

    @property
    def variant(self) -> str:
        """The option's variant."""
        return self.option.candidate.variant

    @property
    def latency_s(self) -> float:
        """What it adds to a path."""
        return self.run_s + self.wait_s

    @property
    def cost(self) -> float:
        """Of all replicas."""
        return self.replicas * self.option.cost


@dataclass(frozen=True)
class Restriction:
    """What a system may choose less of than IPA.

    ``variants`` are by pipeline and stage the only ones eligible; stages that are missing have all. ``replicas`` fixes
    how many every stage has. ``cost_limit`` is of all pipelines together, ``least_accuracy`` by pipeline.
    """

    variants: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)
    replicas: int | None = None
    cost_limit: float = inf
    least_accuracy: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PipelineChoices:
    """A pipeline with the choices of its stages, in their order, the limit of its latency and its accuracy.

    ``load_qps`` is by stage, in jobs.
    """

    problem: PipelineProblem
    slo_s: float
    accuracy: PipelineAccuracy
    load_qps: tuple[float, ...]
    stages: tuple[tuple[Choice, ...], ...]


def wait_s(batch_rows: int, load_qps: float) -> float:
    """How long the first job of a batch waits for the others at worst (equation 7), where so many jobs arrive."""
    if batch_rows == 1:
        return 0.0
    return (batch_rows - 1) / load_qps if load_qps > 0 else inf


def replicas_for(load_qps: float, qps: float) -> int:
    """The least number that bears the load (constraint 9c), and one where there is none."""
    return max(ceil(load_qps / qps * (1 - TOLERANCE)), 1)


def choices_of(
    pipeline: PipelineProblem,
    accuracy: PipelineAccuracy,
    options: IpaOptions,
    restriction: Restriction,
    *,
    served: float = 1.0,
    any_replicas: bool = False,
) -> PipelineChoices:
    """All choices at the ``served`` part of the load that are in time by themselves and bear it.

    With ``any_replicas`` they need not bear it, and have one replica each, or as many as are fixed.
    """
    loads_qps = tuple(served * pipeline.load_qps * stage.jobs_per_query for stage in pipeline.stages)
    only = restriction.variants.get(pipeline.name, {})
    stages = []
    for stage, load_qps in zip(pipeline.stages, loads_qps, strict=True):
        of_variant = accuracy.by_stage[stage.name]
        if stage.name in only:
            of_variant = {variant: each for variant, each in of_variant.items() if variant in only[stage.name]}
        found = _of_stage(stage, of_variant, load_qps, options.batch_sizes, restriction.replicas, any_replicas)
        stages.append(tuple(found))
    return PipelineChoices(pipeline, pipeline.slo_s, accuracy, loads_qps, tuple(stages))


def _of_stage(
    stage: StageProblem,
    accuracy: Mapping[str, float],
    load_qps: float,
    batch_sizes: Sequence[int],
    replicas: int | None,
    any_replicas: bool,
) -> list[Choice]:
    found = []
    for option in stage.options:
        candidate = option.candidate
        if candidate.variant not in accuracy:
            continue
        for rows in batch_sizes:
            if rows > candidate.max_batch or wait_s(rows, load_qps) == inf:
                continue
            run_s = candidate.latency_s[rows]
            qps = stage.qps(candidate, rows)
            needed = 1 if any_replicas else replicas_for(load_qps, qps)
            if replicas is not None and replicas < needed:
                continue
            count = needed if replicas is None else replicas
            found.append(Choice(option, accuracy[candidate.variant], rows, run_s, wait_s(rows, load_qps), qps, count))
    return found


def undominated(
    choices: Sequence[Choice], goods: np.ndarray, groups: Sequence[Hashable] | None = None
) -> tuple[Choice, ...]:
    """Without choices that another one equals or beats in every column of ``goods``, of shape (choices, columns).

    Where whatever a plan is judged by only gains as these columns grow, a plan with the one stays feasible, and becomes
    no worse, with the other in its place. With ``groups``, one for each choice, only choices of the same group
    stand for each other. Of equals the first is kept.
    """
    if len(choices) < 2:
        return tuple(choices)
    at_least = (goods[:, None, :] >= goods[None, :, :]).all(axis=2)
    if groups is not None:
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        names = np.array([numbers[group] for group in groups])
        at_least &= names[:, None] == names[None, :]
    order = np.arange(len(choices))
    beats = at_least & (~at_least.T | (order[:, None] < order[None, :]))
    kept = np.flatnonzero(~beats.any(axis=0))
    return tuple(choices[number] for number in kept.tolist())

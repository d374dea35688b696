"""The paper's pipelines as they are planned for, served and simulated."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np

from autoscaler.planners.ipa.accuracy import ranks
from autoscaler.planners.ipa.problem import Option, PipelineProblem, StageProblem
from benchmarks.ipa.curves import TaskCurves, curves_of, law_of
from benchmarks.ipa.scenario import Scenario, Task
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import Arrays
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import QUERY, Graph, Node, Part, Values
from dispatch.plan import EndpointLimits, EndpointPlan, StagePlan
from dispatch.query import Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate

DEVICE = "cores"

SPREAD = 0.05
"""Standard deviation of a batch's time relative to its mean, which is the curve's."""

MAX_QUEUED_ROWS = 10**6
"""Nothing is refused before its deadline."""

Z = (0.0, 1.2816, 1.6449, 2.3263)
"""Of the normal distribution at 50, 90, 95 and 99%."""


@dataclass(frozen=True)
class ModelVariant:
    """A variant under its base allocation; ``rank`` is 0 to 1 within its stage (section 4.1)."""

    candidate: Candidate
    cores: int
    rank: float
    profile: LatencyProfile


@dataclass(frozen=True)
class PipelineStage:
    """A stage with its variants by name."""

    name: str
    variants: Mapping[str, ModelVariant]


@dataclass(frozen=True)
class Pipeline:
    """Stages one after the other (section 4.1 has only such)."""

    name: str
    slo_s: float
    stages: tuple[PipelineStage, ...]

    @cached_property
    def problem(self) -> PipelineProblem:
        """What is to be planned, at a load of 0."""
        stages = []
        for number, stage in enumerate(self.stages):
            options = tuple(Option(own.candidate, own.cores, DEVICE) for own in stage.variants.values())
            stages.append(StageProblem(stage.name, tuple(s.name for s in self.stages[:number][-1:]), options))
        return PipelineProblem(self.name, self.slo_s, 0.0, tuple(stages))

    @property
    def profiles(self) -> dict[str, dict[str, LatencyProfile]]:
        """By device type and variant, as `SampledLatency` takes them."""
        return {DEVICE: {name: own.profile for stage in self.stages for name, own in stage.variants.items()}}

    def endpoint(self) -> EndpointPlan:
        """A new one: a central queue for each stage (section 3), and nobody is served after the deadline (4.5)."""
        stages = {
            stage.name: StagePlan(
                {DEVICE: tuple(own.candidate for own in stage.variants.values())}, GreedySelection(), balancer=None
            )
            for stage in self.stages
        }
        limits = EndpointLimits(self.slo_s, drop_late=True, max_queued_rows=MAX_QUEUED_ROWS)
        return EndpointPlan(self.name, limits, stages, PipelineFlow(self._graph()))

    def _graph(self) -> Graph:
        names = [stage.name for stage in self.stages]
        sources = [QUERY, *names]
        nodes = [Node(name, tuple(sources[1 : number + 1][-1:]), _one_part) for number, name in enumerate(names)]
        return Graph(tuple(nodes), _nothing_said)


def pipelines_of(scenario: Scenario, size_factor: float = 1.0) -> dict[str, Pipeline]:
    """All of them by name, with latencies by the rule of `curves`."""
    law = law_of(scenario.measured, size_factor)
    stages = {
        name: PipelineStage(name, _variants(task, curves_of(task, scenario.slo_s(name), law)))
        for name, task in scenario.tasks.items()
        if any(stage.task == name for each in scenario.pipelines.values() for stage in each.stages)
    }
    return {
        name: Pipeline(name, each.slo_s, tuple(stages[stage.task] for stage in each.stages))
        for name, each in scenario.pipelines.items()
    }


def _variants(task: Task, curves: TaskCurves) -> dict[str, ModelVariant]:
    made = {}
    for name, row in task.variants.items():
        curve = curves.curve(name)
        sizes = range(1, curves.most_rows(name) + 1)
        profile = LatencyProfile(DEVICE, {rows: _spread(curve.latency_s(rows)) for rows in sizes})
        latency_s, mean_s = ((0.0, *(of(rows) for rows in sizes)) for of in (profile.p95_s, profile.mean_s))
        made[name] = (Candidate(name, task.accuracy(name), latency_s, mean_s), row.cores, profile)
    options = tuple(Option(candidate, cores) for candidate, cores, _ in made.values())
    rank = ranks(StageProblem("", (), options))
    return {name: ModelVariant(own[0], own[1], rank[name], own[2]) for name, own in made.items()}


def _spread(mean_s: float) -> BatchLatency:
    """Lognormal around a mean, as `SampledLatency` draws it."""
    sigma = sqrt(log(1.0 + SPREAD**2))
    ms = 1e3 * mean_s * np.exp(sigma * np.array(Z) - sigma**2 / 2.0)
    return BatchLatency(1, 1e3 * mean_s, 1e3 * mean_s * SPREAD, *map(float, ms))


def _one_part(values: Values) -> tuple[Part, ...]:
    return (Part({}, 1),)


def _nothing_said(query: Query, values: Values) -> Arrays:
    return {}

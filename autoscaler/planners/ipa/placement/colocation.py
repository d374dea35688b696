"""Few workers and many stages: each worker holds a variant of every stage, and shares its time among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from ortools.math_opt.python import mathopt

from autoscaler.planners.ipa.accuracy import PipelineAccuracy, accuracy_of
from autoscaler.planners.ipa.best import accuracy_of_taken
from autoscaler.planners.ipa.choices import TOLERANCE, Choice, PipelineChoices, Restriction, choices_of
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.problem import IpaOptions, Option, PipelineProblem
from autoscaler.planners.ipa.program import Answer, Clock, Program, Taken
from autoscaler.planners.ipa.solution import Active, PipelineSolution
from dispatch.selection.policy import Candidate

EVERYTHING = Restriction()
SLACK = 1e-6
"""Of a solver's optimum that is asked for again: more than its own tolerance."""


@dataclass(frozen=True)
class Shared:
    """All workers hold what is active in every stage. ``busy`` is the part of their time that this takes.

    ``devices`` are the workers by device type. ``beside_s`` is how long a batch may wait for one of another stage, and
    is in the waits of ``pipelines``. A stage's cost is its part of the time.
    """

    pipelines: Mapping[str, PipelineSolution]
    devices: Mapping[str, int]
    served: float
    busy: float
    beside_s: float
    in_time: bool
    proven: bool
    solve_s: float


@dataclass(frozen=True)
class Memory:
    """Of one worker, and by variant what it takes of that; those that are missing take nothing."""

    worker_bytes: float
    variant_bytes: Mapping[str, float]


def share(
    pipelines: Sequence[PipelineProblem], devices: Mapping[str, int], memory: Memory, options: IpaOptions
) -> Shared | Answer:
    """Choose a variant and a batch size for every stage so that the workers' time is enough for all.

    A batch takes what it takes on the slowest of the ``devices``, workers by device type, which all must have the
    variant. So the stages' load / h together are at most the number of workers, which stands for 9c. In place of 9b
    each stage also waits for the longest batch of any stage, which may have begun on the worker just before. Of equals
    in this the rest is as in `solver.solve`: the largest part of the load, and at it the objective, in which the cost
    is the same for all. Else why there is no plan: a variant of each stage is too much for a worker's memory, or no
    stage has one for all devices.
    """
    clock = Clock(options.time_limit_s)
    alike = [_on_all(pipeline, tuple(devices)) for pipeline in pipelines]
    if any(pipeline is None for pipeline in alike) or not devices:
        return Answer(None, infeasible=True)
    problems = [pipeline for pipeline in alike if pipeline is not None]
    accuracies = [accuracy_of(pipeline, options.accuracy) for pipeline in pipelines]
    steps = _Steps(problems, accuracies, options, memory, devices, clock)
    limits_s = steps.limits_s()
    if isinstance(limits_s, Answer):
        return limits_s
    served = 1.0
    while True:
        answer, part = steps.least_busy(served, limits_s)
        if answer.taken is None:
            return answer
        if part >= 1.0:
            break
        served *= part
        if steps.in_time(answer.taken, served, limits_s):
            break
    best = steps.best(served, limits_s)
    return best if best.taken is None else steps.shared(best, served)


@dataclass(frozen=True)
class _Steps:
    """The programs, over the same pipelines and workers."""

    pipelines: Sequence[PipelineProblem]
    accuracies: Sequence[PipelineAccuracy]
    options: IpaOptions
    memory: Memory
    devices: Mapping[str, int]
    clock: Clock

    @property
    def workers(self) -> int:
        """Of all device types."""
        return sum(self.devices.values())

    def limits_s(self) -> list[float] | Answer:
        """By pipeline its objective, or what its fastest choices take."""
        program, beside_s = self._program(1.0, None)
        overrun = [program.model.add_variable(lb=0.0) for _ in self.pipelines]
        program.keep_within(overrun, beside_s)
        program.model.minimize(mathopt.fast_sum(overrun))
        answer = program.solve(self.clock, in_time=False)
        if answer.taken is None:
            return answer
        return [
            max(latency_s * (1 + SLACK) if latency_s > pipeline.slo_s * (1 + TOLERANCE) else 0.0, pipeline.slo_s)
            for pipeline, latency_s in zip(self.pipelines, _latencies_s(self.pipelines, answer.taken), strict=True)
        ]

    def least_busy(self, served: float, limits_s: Sequence[float]) -> tuple[Answer, float]:
        """What takes the least time, and the part of the ``served`` load that the workers have time for."""
        program, beside_s = self._program(served, limits_s)
        program.keep_within(None, beside_s)
        program.model.minimize(self._busy(program))
        answer = program.solve(self.clock, in_time=False)
        if answer.taken is None:
            return answer, 0.0
        busy = _busy(program.pipelines, answer.taken) / self.workers
        return answer, 1.0 if busy <= 1 + TOLERANCE else 1.0 / busy

    def in_time(self, taken: Taken, served: float, limits_s: Sequence[float]) -> bool:
        """Whether these choices keep the limits also at that load, where batches fill more slowly."""
        again = self._choices(served, limits_s)
        same = tuple(
            tuple(
                next(c for c in choices if (c.variant, c.batch_rows) == (old.variant, old.batch_rows))
                for choices, old in zip(pipeline.stages, own, strict=True)
            )
            for pipeline, own in zip(again, taken, strict=True)
        )
        latencies_s = _latencies_s(self.pipelines, same)
        return all(own <= limit_s * (1 + SLACK) for own, limit_s in zip(latencies_s, limits_s, strict=True))

    def best(self, served: float, limits_s: Sequence[float]) -> Answer:
        """The largest objective at that load."""
        program, beside_s = self._program(served, [limit_s * (1 + SLACK) for limit_s in limits_s])
        program.keep_within(None, beside_s)
        program.model.add_linear_constraint(self._busy(program) <= self.workers * (1 + SLACK))
        terms = []
        for pipeline, stages, combinations in zip(program.pipelines, program.taken, program.combinations, strict=True):
            for choices, variables in zip(pipeline.stages, stages, strict=True):
                terms += [
                    (self.options.alpha * c.accuracy - self.options.delta * c.batch_rows) * x
                    for c, x in zip(choices, variables, strict=True)
                ]
            measured = pipeline.accuracy.combinations or {}
            terms += [self.options.alpha * measured[each] * z for each, z in combinations.items()]
        program.model.maximize(mathopt.fast_sum(terms))
        return program.solve(self.clock, in_time=False)

    def shared(self, answer: Answer, served: float) -> Shared:
        """The plan that a solution stands for."""
        assert answer.taken is not None
        pipelines = self._choices(served, None)
        beside_s = max(choice.run_s for own in answer.taken for choice in own)
        busy_workers = _busy(pipelines, answer.taken)
        busy = busy_workers / self.workers
        cost = self.workers * max(choice.option.cost for own in answer.taken for choice in own)
        stages = sum(len(own) for own in answer.taken)
        latencies_s = _latencies_s(self.pipelines, answer.taken)
        solutions = {}
        for pipeline, own, latency_s in zip(pipelines, answer.taken, latencies_s, strict=True):
            active = {}
            for stage, choice, load_qps in zip(pipeline.problem.stages, own, pipeline.load_qps, strict=True):
                part = load_qps / choice.qps / busy_workers if busy_workers else 1 / stages
                active[stage.name] = Active(
                    variant=choice.variant,
                    device="",
                    batch_rows=choice.batch_rows,
                    replicas=self.workers,
                    cost=part * cost,
                    run_s=choice.run_s,
                    wait_s=choice.wait_s + beside_s,
                    capacity_qps=load_qps / busy if load_qps > 0 else self.workers * choice.qps,
                )
            solutions[pipeline.problem.name] = PipelineSolution(
                stages={name: (each,) for name, each in active.items()},
                accuracy=accuracy_of_taken(pipeline, own),
                cost=sum(each.cost for each in active.values()),
                latency_s=latency_s,
                served_qps=served * pipeline.problem.load_qps,
            )
        in_time = all(
            own <= pipeline.slo_s * (1 + 2 * SLACK) for own, pipeline in zip(latencies_s, self.pipelines, strict=True)
        )
        return Shared(solutions, self.devices, served, busy, beside_s, in_time, answer.proven, self.clock.spent_s)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _choices(self, served: float, limits_s: Sequence[float] | None) -> list[PipelineChoices]:
        found = []
        for number, (pipeline, accuracy) in enumerate(zip(self.pipelines, self.accuracies, strict=True)):
            own = choices_of(pipeline, accuracy, self.options, EVERYTHING, served=served, any_replicas=True)
            found.append(own if limits_s is None else replace(own, slo_s=limits_s[number]))
        return found

    def _program(self, served: float, limits_s: Sequence[float] | None) -> tuple[Program, mathopt.Variable]:
        """One choice per stage, what fits the memory, and the longest run of all."""
        program = Program(self._choices(served, limits_s))
        beside_s = program.model.add_variable(lb=0.0)
        for pipeline, stages in zip(program.pipelines, program.taken, strict=True):
            for choices, variables in zip(pipeline.stages, stages, strict=True):
                runs_s = [choice.run_s * x for choice, x in zip(choices, variables, strict=True)]
                program.model.add_linear_constraint(beside_s >= mathopt.fast_sum(runs_s))
        self._keep_memory(program)
        return program, beside_s

    def _keep_memory(self, program: Program) -> None:
        """Keep what a worker holds within its memory: once each variant that several stages run, of any pipeline."""
        if not 0 < self.memory.worker_bytes < inf:
            return
        needing: dict[str, list[mathopt.LinearSum]] = {}
        for pipeline, stages in zip(program.pipelines, program.taken, strict=True):
            for choices, variables in zip(pipeline.stages, stages, strict=True):
                of_stage: dict[str, list[mathopt.Variable]] = {}
                for choice, x in zip(choices, variables, strict=True):
                    for name in dict.fromkeys(choice.option.candidate.needs):
                        of_stage.setdefault(name, []).append(x)
                for name, own in of_stage.items():
                    needing.setdefault(name, []).append(mathopt.fast_sum(own))
        parts = []
        for name, by_stage in needing.items():
            own_bytes = self.memory.variant_bytes.get(name, 0.0)
            if not own_bytes:
                continue
            held: mathopt.LinearTypes = by_stage[0]
            if len(by_stage) > 1:
                held = once = program.model.add_variable(lb=0.0, ub=1.0)
                for needed in by_stage:
                    program.model.add_linear_constraint(once >= needed)
            parts.append(own_bytes / self.memory.worker_bytes * held)
        program.model.add_linear_constraint(mathopt.fast_sum(parts) <= 1.0)

    def _busy(self, program: Program) -> mathopt.LinearExpression:
        terms = []
        for pipeline, stages in zip(program.pipelines, program.taken, strict=True):
            for load_qps, choices, variables in zip(pipeline.load_qps, pipeline.stages, stages, strict=True):
                terms += [load_qps / choice.qps * x for choice, x in zip(choices, variables, strict=True)]
        return mathopt.fast_sum(terms)


def _busy(pipelines: Sequence[PipelineChoices], taken: Taken) -> float:
    """Workers that the choices keep busy."""
    return sum(
        load_qps / choice.qps
        for pipeline, own in zip(pipelines, taken, strict=True)
        for load_qps, choice in zip(pipeline.load_qps, own, strict=True)
    )


def _latencies_s(pipelines: Sequence[PipelineProblem], taken: Sequence[Sequence[Choice]]) -> list[float]:
    """By pipeline its longest path, with a wait for the longest batch of all at every stage."""
    beside_s = max(choice.run_s for own in taken for choice in own)
    return [
        longest_path(
            pipeline.stages,
            {s.name: choice.latency_s + beside_s for s, choice in zip(pipeline.stages, own, strict=True)},
        )[0]
        for pipeline, own in zip(pipelines, taken, strict=True)
    ]


def _on_all(pipeline: PipelineProblem, devices: Sequence[str]) -> PipelineProblem | None:
    """With the variants that all of the devices have, as slow as on the slowest; None where a stage has none."""
    stages = []
    for stage in pipeline.stages:
        by_variant: dict[str, list[Option]] = {}
        for option in stage.options:
            if option.device in devices:
                by_variant.setdefault(option.candidate.variant, []).append(option)
        common = tuple(_slowest(own) for own in by_variant.values() if len(own) == len(devices))
        if not common:
            return None
        stages.append(replace(stage, options=common))
    return replace(pipeline, stages=tuple(stages))


def _slowest(options: Sequence[Option]) -> Option:
    candidates = [option.candidate for option in options]
    first, rows = candidates[0], min(len(each.latency_s) for each in candidates)
    candidate = Candidate(
        first.variant,
        first.accuracy,
        tuple(max(each.latency_s[n] for each in candidates) for n in range(rows)),
        path_s=max(each.path_s for each in candidates),
        members=first.members,
        follow_s=tuple(max((each.follow_s or each.latency_s)[n] for each in candidates) for n in range(rows)),
    )
    return Option(candidate, max(option.cost for option in options))

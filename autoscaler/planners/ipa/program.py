"""Formulation 9 for MathOpt, with one binary variable for each choice of each stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from math import inf

from ortools.math_opt.python import mathopt

from autoscaler.planners.ipa.choices import TOLERANCE, Choice, PipelineChoices
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.problem import Workers

GAP = 1e-9
"""Asked of the solver, relative and absolute: less is lost in its own tolerances."""

INFEASIBLE = (mathopt.TerminationReason.INFEASIBLE, mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED)

SCALE = 1000.0
"""Of objectives to the solver, which takes solutions that differ by 1e-6 for equal: a row of a batch counts no more."""

Taken = tuple[tuple[Choice, ...], ...]
"""By pipeline and stage the choice that a solution takes."""


@dataclass
class Clock:
    """The solver time that is left, and what was spent of it."""

    left_s: float
    spent_s: float = 0.0

    def spend(self, seconds: float) -> None:
        """Take off what a solve took."""
        self.left_s -= seconds
        self.spent_s += seconds


@dataclass(frozen=True)
class Answer:
    """``taken`` is None where there is nothing in hand; the program is then ``infeasible``, or the time was up.

    ``objective`` and ``bound`` are the solver's.
    """

    taken: Taken | None
    infeasible: bool = False
    proven: bool = False
    objective: float = 0.0
    bound: float = inf
    values: Mapping[mathopt.Variable, float] = field(default_factory=dict)


def branch_and_bound(model: mathopt.Model, clock: Clock) -> mathopt.SolveResult:
    """SCIP's answer within the time that is left, by branching alone.

    Relaxations of these programs are small and near their optimum: cuts, strong branching and most heuristics take
    longer at the first nodes than the whole tree without them.
    """
    parameters = mathopt.SolveParameters(
        time_limit=timedelta(seconds=clock.left_s),
        relative_gap_tolerance=GAP,
        absolute_gap_tolerance=GAP,
        presolve=mathopt.Emphasis.LOW,
        cuts=mathopt.Emphasis.OFF,
        heuristics=mathopt.Emphasis.LOW,
    )
    parameters.gscip.int_params["branching/pscost/priority"] = 100_000
    result = mathopt.solve(model, mathopt.SolverType.GSCIP, params=parameters)
    clock.spend(result.solve_time().total_seconds())
    return result


class Program:
    """One choice per stage (9d) and the latency (9b); callers add what is to be borne, and what is to be best.

    ``taken[p][s][k]`` is 1 where stage s of pipeline p takes its k-th choice. Latencies are in parts of the limit, so
    that one tolerance suits all. Every stage needs at least one choice.
    """

    def __init__(self, pipelines: Sequence[PipelineChoices]) -> None:
        self.model = mathopt.Model()
        self.pipelines = pipelines
        self.combinations: list[dict[tuple[str, ...], mathopt.Variable]] = []
        self.taken: list[list[list[mathopt.Variable]]] = []
        for pipeline in pipelines:
            stages = [[self.model.add_binary_variable() for _ in choices] for choices in pipeline.stages]
            for variables in stages:
                self.model.add_linear_constraint(mathopt.fast_sum(variables) == 1)
            self.taken.append(stages)
            self.combinations.append(self._tie(pipeline, stages))

    def keep_within(
        self, overrun: Sequence[mathopt.Variable] | None = None, beside_s: mathopt.LinearTypes = 0.0
    ) -> None:
        """Every path of every pipeline within its limit (9b), or beyond it by the part that ``overrun`` says.

        Each stage takes ``beside_s`` longer than its choice says. A sequence of stages is one sum; else every stage is
        done after those that it takes from.
        """
        for number, pipeline in enumerate(self.pipelines):
            limit = 1.0 + (overrun[number] if overrun is not None else 0.0)
            spans = [
                mathopt.fast_sum([c.latency_s / pipeline.slo_s * x for c, x in zip(choices, variables, strict=True)])
                + beside_s / pipeline.slo_s
                for choices, variables in zip(pipeline.stages, self.taken[number], strict=True)
            ]
            stages = pipeline.problem.stages
            if all(stage.after == ((stages[i - 1].name,) if i else ()) for i, stage in enumerate(stages)):
                self.model.add_linear_constraint(mathopt.fast_sum(spans) <= limit)
                continue
            sources = {source for stage in stages for source in stage.after}
            done: dict[str, mathopt.Variable] = {}
            for stage, span in zip(stages, spans, strict=True):
                begun = [done[source] for source in stage.after] or [0.0]
                end = self.model.add_variable(lb=0.0) if stage.name in sources else limit
                for before in begun:
                    self.model.add_linear_constraint(before + span <= end)
                done[stage.name] = end

    def bound_replicas(
        self,
        replicas: Sequence[Sequence[Sequence[mathopt.LinearTypes]]],
        workers: Workers,
        cost_limit: float,
    ) -> None:
        """No more ``replicas``, by pipeline, stage and choice, than there are workers, nor for more than the limit."""
        used: dict[str, list[mathopt.LinearTypes]] = {}
        spent = []
        for pipeline, stages in zip(self.pipelines, replicas, strict=True):
            for choices, counts in zip(pipeline.stages, stages, strict=True):
                for choice, count in zip(choices, counts, strict=True):
                    if workers.limit(choice.option.device) < inf:
                        used.setdefault(choice.option.device, []).append(count)
                    if 0 < cost_limit < inf:
                        spent.append(choice.option.cost / cost_limit * count)
        for device, counts in used.items():
            self.model.add_linear_constraint(mathopt.fast_sum(counts) <= workers.limit(device))
        if spent:
            self.model.add_linear_constraint(mathopt.fast_sum(spent) <= 1.0)

    def solve(self, clock: Clock, *, in_time: bool = True) -> Answer:
        """The best of the objective that the model has, and unless it need not be ``in_time`` within the limits.

        These are kept also where latencies are added up in floating point: paths that only a solver's tolerance lets
        through are cut off one by one.
        """
        while True:
            if clock.left_s <= 0:
                return Answer(None)
            result = branch_and_bound(self.model, clock)
            reason = result.termination.reason
            if not result.has_primal_feasible_solution():
                return Answer(None, infeasible=reason in INFEASIBLE)
            values = result.variable_values()
            chosen = [
                [max(range(len(own)), key=lambda k: values[own[k]]) for own in variables] for variables in self.taken
            ]
            late = self._late(chosen) if in_time else []
            if not late:
                return Answer(
                    self._choices(chosen),
                    proven=reason == mathopt.TerminationReason.OPTIMAL,
                    objective=result.objective_value(),
                    bound=result.best_objective_bound(),
                    values=values,
                )
            for path in late:
                self.model.add_linear_constraint(mathopt.fast_sum(path) <= len(path) - 1)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _choices(self, chosen: Sequence[Sequence[int]]) -> Taken:
        return tuple(
            tuple(choices[k] for choices, k in zip(pipeline.stages, own, strict=True))
            for pipeline, own in zip(self.pipelines, chosen, strict=True)
        )

    def _late(self, chosen: Sequence[Sequence[int]]) -> list[list[mathopt.Variable]]:
        """Paths that the solver's tolerance let through, as the variables that are 1 along them."""
        found = []
        for number, (pipeline, own) in enumerate(zip(self.pipelines, self._choices(chosen), strict=True)):
            names = [stage.name for stage in pipeline.problem.stages]
            latency_s = {name: choice.latency_s for name, choice in zip(names, own, strict=True)}
            total_s, path = longest_path(pipeline.problem.stages, latency_s)
            if total_s > pipeline.slo_s * (1 + TOLERANCE):
                stages = [names.index(name) for name in path]
                found.append([self.taken[number][s][chosen[number][s]] for s in stages])
        return found

    def _tie(
        self, pipeline: PipelineChoices, stages: Sequence[Sequence[mathopt.Variable]]
    ) -> dict[tuple[str, ...], mathopt.Variable]:
        """A variable for each combination that was measured, 1 where the stages take its variants."""
        if pipeline.accuracy.combinations is None:
            return {}
        found = {each: self.model.add_variable(lb=0.0, ub=1.0) for each in pipeline.accuracy.combinations}
        self.model.add_linear_constraint(mathopt.fast_sum(list(found.values())) == 1)
        for number, (choices, variables) in enumerate(zip(pipeline.stages, stages, strict=True)):
            for variant in {each[number] for each in found} | {choice.variant for choice in choices}:
                of_variant = [x for choice, x in zip(choices, variables, strict=True) if choice.variant == variant]
                of_combination = [z for each, z in found.items() if each[number] == variant]
                self.model.add_linear_constraint(mathopt.fast_sum(of_variant) == mathopt.fast_sum(of_combination))
        return found

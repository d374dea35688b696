"""An extension of formulation 9: more than one active variant in a stage, each with a share of its load."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

from ortools.math_opt.python import mathopt

from autoscaler.planners.ipa.accuracy import PipelineAccuracy
from autoscaler.planners.ipa.choices import TOLERANCE, Choice, PipelineChoices, Restriction, choices_of
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.overload import least_limits_s
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem, Workers
from autoscaler.planners.ipa.program import GAP, INFEASIBLE, SCALE, Answer, Clock, branch_and_bound

SLACK = 1e-8
"""Of the largest part of the load, so that it can be borne where a solver knows it as well as it does."""

MARGINS = (0.0, 1e-6)
"""By which loads and latencies are taken for more: the second where a solver's tolerance let something through."""


@dataclass(frozen=True)
class Share:
    """A choice with whole ``replicas`` and its part of the stage's jobs."""

    choice: Choice
    replicas: int
    share: float


Shares = tuple[tuple[tuple[Share, ...], ...], ...]
"""By pipeline and stage what is active, the most accurate first."""


@dataclass(frozen=True)
class Mixed:
    """``shares`` are None where there is nothing in hand, for the reason that ``answer`` has."""

    answer: Answer
    shares: Shares | None = None
    part: float = 1.0


def solve_several(
    pipelines: Sequence[PipelineProblem],
    accuracies: Sequence[PipelineAccuracy],
    options: IpaOptions,
    workers: Workers,
    clock: Clock,
) -> tuple[Sequence[PipelineChoices], Mixed, float]:
    """The choices, what is active of them, and the served part of the loads; as `solver.solve` says of one variant."""

    def at(served: float, limits_s: Sequence[float], *, most: bool = False) -> tuple[list[PipelineChoices], Mixed]:
        choices = []
        for pipeline, accuracy, limit_s in zip(pipelines, accuracies, limits_s, strict=True):
            own = choices_of(pipeline, accuracy, options, Restriction(), served=served, any_replicas=True)
            choices.append(_able(replace(own, slo_s=limit_s), workers))
        if not all(own for pipeline in choices for own in pipeline.stages):
            return choices, Mixed(Answer(None, infeasible=True))
        for margin in MARGINS:
            program = MixedProgram(choices, options, workers, margin)
            found = program.most(clock) if most else program.best(clock)
            if found.shares is None or _right(choices, found.shares, 1.0):
                break
        return choices, found

    served, limits_s = 1.0, [pipeline.slo_s for pipeline in pipelines]
    choices, found = at(served, limits_s)
    if found.shares is not None or not found.answer.infeasible:
        return choices, found, served
    least_s = least_limits_s(pipelines, accuracies, options, workers, Restriction(), clock)
    if isinstance(least_s, Answer):
        return choices, Mixed(least_s), served
    if least_s != limits_s:
        limits_s = least_s
        choices, found = at(served, limits_s)
    slack = SLACK
    while found.shares is None and found.answer.infeasible:
        choices, most = at(served, limits_s, most=True)
        if most.shares is None:
            return choices, most, served
        served *= most.part * (1 - slack)
        if _right(choices, most.shares, most.part):
            choices, found = at(served, limits_s)
            slack = min(10 * slack, 0.01)
    return choices, found, served


class MixedProgram:
    """Which choices are active, with how many replicas and which share of the load.

    A stage takes as long as the slowest of its active choices. Its jobs wait in one queue, from which batches fill one
    after the other, so that equation 7 holds with the stage's whole load. A variant has one batch size on each device
    type.
    """

    def __init__(
        self, pipelines: Sequence[PipelineChoices], options: IpaOptions, workers: Workers, margin: float
    ) -> None:
        self.model = mathopt.Model()
        self.pipelines = pipelines
        self.options = options
        self.part = self.model.add_variable(lb=0.0, ub=1.0)
        self.worth: list[mathopt.LinearTypes] = []
        self.rows: list[list[list[tuple[Choice, mathopt.Variable, mathopt.Variable]]]] = []
        used: dict[str, list[mathopt.Variable]] = {}
        for pipeline in pipelines:
            spans = []
            self.rows.append([])
            for choices, load_qps in zip(pipeline.stages, pipeline.load_qps, strict=True):
                rows, span = self._stage(pipeline, choices, load_qps, workers, margin)
                self.rows[-1].append(rows)
                spans.append(span)
                for choice, _, replicas in rows:
                    used.setdefault(choice.option.device, []).append(replicas)
            done: dict[str, mathopt.Variable] = {}
            for stage, span in zip(pipeline.problem.stages, spans, strict=True):
                done[stage.name] = self.model.add_variable(lb=0.0, ub=1.0)
                for before in [done[source] for source in stage.after] or [0.0]:
                    self.model.add_linear_constraint(before + span <= done[stage.name])
        for device, replicas in used.items():
            if workers.limit(device) < inf:
                self.model.add_linear_constraint(mathopt.fast_sum(replicas) <= workers.limit(device))

    def best(self, clock: Clock) -> Mixed:
        """The largest objective with all of the load borne."""
        self.part.lower_bound = 1.0
        self.model.maximize(SCALE * mathopt.fast_sum(self.worth))
        return self._solve(clock)

    def most(self, clock: Clock) -> Mixed:
        """The largest part of the load that can be borne, with waits as at all of it."""
        self.model.maximize(self.part)
        return self._solve(clock)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _stage(
        self, pipeline: PipelineChoices, choices: Sequence[Choice], load_qps: float, workers: Workers, margin: float
    ) -> tuple[list[tuple[Choice, mathopt.Variable, mathopt.Variable]], mathopt.Variable]:
        add = self.model.add_linear_constraint
        rows, shares = [], []
        of_option: dict[tuple[str, str], list[mathopt.Variable]] = {}
        span = self.model.add_variable(lb=0.0, ub=1.0)
        for choice in choices:
            most = max(ceil(load_qps / choice.qps * (1 + 2 * margin)), 1)
            limit = workers.limit(choice.option.device)
            active = self.model.add_binary_variable()
            share = self.model.add_variable(lb=0.0, ub=1.0)
            replicas = self.model.add_integer_variable(lb=0, ub=min(most, int(limit)) if limit < inf else most)
            add(share <= active)
            add(replicas >= active)
            add(replicas <= most * active)
            if load_qps > 0:
                add(share * (1 + margin) <= choice.qps / load_qps * replicas)
            add(choice.latency_s / pipeline.slo_s * (1 + margin) * active <= span)
            of_option.setdefault((choice.variant, choice.option.device), []).append(active)
            shares.append(share)
            rows.append((choice, share, replicas))
            self.worth += [
                self.options.alpha * choice.accuracy * share,
                -self.options.beta * choice.option.cost * replicas,
                -self.options.delta * choice.batch_rows * active,
            ]
        for same in of_option.values():
            add(mathopt.fast_sum(same) <= 1)
        add(mathopt.fast_sum(shares) == self.part)
        add(mathopt.fast_sum([active for same in of_option.values() for active in same]) >= 1)
        return rows, span

    def _solve(self, clock: Clock) -> Mixed:
        if clock.left_s <= 0:
            return Mixed(Answer(None))
        result = branch_and_bound(self.model, clock)
        reason = result.termination.reason
        if not result.has_primal_feasible_solution():
            return Mixed(Answer(None, infeasible=reason in INFEASIBLE))
        values = result.variable_values()
        part = values[self.part]
        shares = tuple(
            tuple(
                _shared([(choice, round(values[n])) for choice, _, n in rows], load_qps * part)
                for rows, load_qps in zip(stages, pipeline.load_qps, strict=True)
            )
            for stages, pipeline in zip(self.rows, self.pipelines, strict=True)
        )
        answer = Answer(
            None,
            proven=reason == mathopt.TerminationReason.OPTIMAL,
            objective=result.objective_value(),
            bound=result.best_objective_bound(),
        )
        return Mixed(answer, shares, part)


def _able(pipeline: PipelineChoices, workers: Workers) -> PipelineChoices:
    """With the choices that are in time by themselves and have a worker."""
    stages = tuple(
        tuple(c for c in choices if c.latency_s <= pipeline.slo_s * (1 + GAP) and workers.limit(c.option.device))
        for choices in pipeline.stages
    )
    return replace(pipeline, stages=stages)


def _right(pipelines: Sequence[PipelineChoices], shares: Shares, part: float) -> bool:
    """Whether all of each stage's load is borne, and the limits kept where only that ``part`` of it arrives."""
    for pipeline, stages in zip(pipelines, shares, strict=True):
        if not all(stages):
            return False
        latency_s = {
            stage.name: max(each.choice.run_s + each.choice.wait_s / part for each in own)
            for stage, own in zip(pipeline.problem.stages, stages, strict=True)
        }
        if longest_path(pipeline.problem.stages, latency_s)[0] > pipeline.slo_s * (1 + TOLERANCE):
            return False
    return True


def _shared(counts: Sequence[tuple[Choice, int]], load_qps: float) -> tuple[Share, ...]:
    """As much as it bears to the most accurate first; what that leaves nothing to is not active."""
    found = []
    left = 1.0
    for choice, count in sorted(counts, key=lambda each: (-each[0].accuracy, each[0].option.cost)):
        if count and left > TOLERANCE:
            share = min(left, count * choice.qps / load_qps) if load_qps > 0 else left
            share = left if left - share <= TOLERANCE else share
            found.append(Share(choice, count, share))
            left -= share
    if left > TOLERANCE:
        return ()
    return tuple(found)

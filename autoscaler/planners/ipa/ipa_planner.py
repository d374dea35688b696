"""Pipelines planned by IPA's integer program."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import ClassVar

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.planners.ipa.explanation import unservable
from autoscaler.planners.ipa.placement.assignment import (
    Named,
    Replicas,
    fill_up,
    name_workers,
    needs_of,
    sets_of,
    to_come,
    workers_there,
)
from autoscaler.planners.ipa.placement.cluster_plan import cluster_plan
from autoscaler.planners.ipa.placement.cluster_problem import problem_of, workers_of
from autoscaler.planners.ipa.placement.colocation import Memory, Shared, share
from autoscaler.planners.ipa.placement.components import Component, components, together
from autoscaler.planners.ipa.placement.cover import cover
from autoscaler.planners.ipa.placement.standby import with_standby
from autoscaler.planners.ipa.placement.upgrades import with_upgrades
from autoscaler.planners.ipa.placement.words import words_on_cover, words_on_sharing
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem, Workers
from autoscaler.planners.ipa.solution import Active, Solution
from autoscaler.planners.ipa.solver import solve
from catalog.errors import ConfigError
from dispatch.query import StageKey

PAPER = IpaOptions()
FEW_WORKERS = 2
"""With fewer workers per stage, workers may hold several variants where that bears more of the load."""


@dataclass(frozen=True)
class IpaPlanner:
    """Chooses a variant, a batch size and workers of its own for every stage of every endpoint.

    Endpoints that have no device type in common, nor are connected by those of others, are planned apart: what one is
    short of is taken from nobody else. For each such component:

    1. `solver.solve` for its endpoints at once, with the workers that there may be. An endpoint without stages is a
       pipeline of one.
    2. With fewer workers than stages a worker holds a variant of each stage: `colocation.share`. So it does with fewer
       than twice as many where that bears more of the load in time.
    3. Where the memory is too small for that every stage is held by someone: `cover.cover`.
    4. Endpoints with a stage that no worker can run are left out, and said to be; so are those with a stage that has
       no variant left, or without any accuracy to plan with (`problem_of`). The others are planned without them.
    5. Workers of pools of a fixed size that are left over hold further replicas of the stages with the least room.
    6. Workers hold the variants of other stages as well, where that is in time: `standby.with_standby`.
    7. With ``upgrades`` workers hold more accurate variants of their stages as well, with ``fallback`` faster ones:
       `upgrades.with_upgrades`.

    Queries are balanced by their endpoints themselves.
    """

    cluster: Cluster
    options: IpaOptions = PAPER
    name: ClassVar[str] = "ipa"

    def __post_init__(self) -> None:
        """Raise `ConfigError` for several active variants.

        Stages share one queue, whose next batch is any idle worker's: nothing there keeps to shares.
        """
        if self.options.several:
            raise ConfigError("several active variants in a stage are for the solver only; plan with several=False")

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The best plan for the observed demand, or that the time was up with no answer.

        Raises ValueError for a demand that is no number from 0, or of an endpoint that is not there.
        """
        demand_qps = self.cluster.demand_qps(observation)
        asked_qps = {name: self.options.headroom * qps for name, qps in demand_qps.items()}
        problem = problem_of(self.cluster, observation, asked_qps, self.options.accuracy)
        workers = workers_of(self.cluster, observation)
        idle = {each.name: words for each in problem.pipelines if (words := unservable(each, workers))}
        reasons = {**problem.left_out, **idle}
        parts = components([each for each in problem.pipelines if each.name not in reasons], workers)
        plans: list[ClusterPlan] = []
        left_s = self.options.time_limit_s
        for part in parts:
            own = self._for(part, max(left_s, self.options.time_limit_s / len(parts)))
            found = own._plan(observation, part.pipelines, part.workers)
            if isinstance(found, NoPlan):
                return found
            plans.append(found)
            left_s -= found.report.solve_s
        plan = together(plans)
        nothing = dict.fromkeys(reasons, 0.0)
        return replace(
            plan,
            demand_qps=demand_qps,
            served_qps={**{n: min(qps, demand_qps[n]) for n, qps in plan.served_qps.items()}, **nothing},
            capacity_qps={**plan.capacity_qps, **nothing},
            own_balancing=frozenset(demand_qps),
            stages={**plan.stages, **{name: {} for name in reasons}},
            report=replace(plan.report, explanation=(*reasons.values(), *plan.report.explanation)),
        )

    # -- inner steps ------------------------------------------------------------------------------------------

    def _for(self, part: Component, time_limit_s: float) -> "IpaPlanner":
        """The planner of one component's pools."""
        pools = tuple(pool for pool in self.cluster.pools if pool.device in part.workers.limits)
        return replace(
            self,
            cluster=replace(self.cluster, pools=pools),
            options=replace(self.options, time_limit_s=time_limit_s),
        )

    def _plan(
        self, observation: Observation, problems: Sequence[PipelineProblem], workers: Workers
    ) -> ClusterPlan | NoPlan:
        """For endpoints with a worker for each stage at least, if not for all at once."""
        found = solve(problems, self.options, workers)
        if found.status is Status.NO_ANSWER and not found.impossible:
            return NoPlan(SolveReport(found.status, None, found.solve_s, found.explanation))
        served = _served(found, problems)
        stages = sum(len(problem.stages) for problem in problems)
        if served < 1 and sum(workers.limits.values()) < FEW_WORKERS * stages:
            together = self._share(problems, workers)
            better = together is not None and together.served > served
            if together is not None and better and (together.in_time or not found.pipelines):
                return self._together(observation, problems, together, found)
        if found.pipelines:
            return self._apart(observation, problems, found)
        return self._covered(observation, problems, workers, found)

    def _apart(self, observation: Observation, problems: Sequence[PipelineProblem], found: Solution) -> ClusterPlan:
        """Every replica is a worker of its own."""
        by_name = {problem.name: problem for problem in problems}
        active: dict[StageKey, Active] = {}
        replicas: Replicas = {}
        for name, solution in found.pipelines.items():
            for stage, (own,) in solution.stages.items():
                active[StageKey(name, stage)] = own
                replicas[StageKey(name, stage), own.variant, own.device] = own.replicas
        free = {
            pool.device: len(workers_there(observation, pool.device))
            - sum(number for (_, _, device), number in replicas.items() if device == pool.device)
            for pool in self.cluster.pools
            if pool.max_workers is None
        }
        replicas, active = fill_up(replicas, active, by_name, free)
        named = name_workers(self.cluster, observation, sets_of(replicas, by_name))
        named = with_standby(self.cluster, observation, problems, active, named)
        report = SolveReport(found.status, found.gap, found.solve_s, found.explanation)
        borne_qps = {name: solution.served_qps for name, solution in found.pipelines.items()}
        plan = cluster_plan(problems, active, borne_qps, named, self.options, report)
        beside = self.options.upgrades, self.options.fallback
        return with_upgrades(self.cluster, observation, problems, active, plan, *beside)

    def _share(self, problems: Sequence[PipelineProblem], workers: Workers) -> Shared | None:
        """All workers that every stage has a variant for; if they have none in common, those of one device type."""
        devices = {device: number for device, number in workers.limits.items() if number}
        alone = [{device: number} for device, number in sorted(devices.items(), key=lambda each: -each[1])]
        for some in [devices, *(alone if len(devices) > 1 else [])]:
            limit_bytes = min((p.memory_bytes for p in self.cluster.pools if p.device in some), default=inf)
            found = share(problems, some, Memory(limit_bytes, self.cluster.memory_bytes), self.options)
            if isinstance(found, Shared):
                return found
        return None

    def _together(
        self, observation: Observation, problems: Sequence[PipelineProblem], shared: Shared, apart: Solution
    ) -> ClusterPlan:
        """Every worker holds a variant of each stage."""
        by_name = {problem.name: problem for problem in problems}
        active = {
            StageKey(name, stage): own
            for name, solution in shared.pipelines.items()
            for stage, (own,) in solution.stages.items()
        }
        everything = frozenset(
            variant for key, own in active.items() for variant in needs_of(by_name, key, own.variant)
        )
        wanted = {device: {everything: number} for device, number in shared.devices.items()}
        named = name_workers(self.cluster, observation, wanted)
        status = Status.OPTIMAL if shared.proven else Status.FEASIBLE
        report = SolveReport(status, None, apart.solve_s + shared.solve_s, words_on_sharing(problems, shared))
        borne_qps = {problem.name: shared.served * problem.load_qps for problem in problems}
        return cluster_plan(problems, active, borne_qps, named, self.options, report)

    def _covered(
        self, observation: Observation, problems: Sequence[PipelineProblem], workers: Workers, found: Solution
    ) -> ClusterPlan:
        """Workers hold what they have room for."""
        there: dict[str, str] = {}
        for device, limit in workers.limits.items():
            names = (*sorted(workers_there(observation, device)), *islice(to_come(observation, device), limit))
            there |= dict.fromkeys(names[:limit], device)
        held = cover(self.cluster, problems, there, observation.held)
        named = Named(
            held.held,
            {
                pool.device: len(workers_there(observation, pool.device))
                if pool.max_workers is None
                else sum(there[worker] == pool.device for worker in held.held)
                for pool in self.cluster.pools
            },
        )
        report = SolveReport(Status.HEURISTIC, None, found.solve_s, (*found.explanation, *words_on_cover(held)))
        borne_qps = {problem.name: held.served * problem.load_qps for problem in problems}
        return cluster_plan(problems, held.active, borne_qps, named, self.options, report)


def _served(found: Solution, problems: Sequence[PipelineProblem]) -> float:
    """The least part of a load that a solution bears, 0 where there is none."""
    parts = [
        found.pipelines[problem.name].served_qps / problem.load_qps
        for problem in problems
        if problem.load_qps > 0 and found.pipelines
    ]
    return min(parts, default=1.0 if found.pipelines else 0.0)

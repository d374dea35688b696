"""A table keeper with a router and a maker that are played."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from deployments.router.router import Router
from deployments.router.tables.keeper import TableKeeper
from deployments.router.tables.making import TableMaker
from deployments.router.tables.progress import TableProgress
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import Balancing, WorkerProblem
from dispatch.selection.ramsis.tables.grid import beyond_table
from dispatch.selection.ramsis.tables.table import DecisionTable
from dispatch_scene import endpoint

HIGHEST_QPS = 3000.0


def table(problem: WorkerProblem) -> DecisionTable:
    """A table that would be made for a problem, with decisions that do not matter here."""
    made = beyond_table(problem, problem.group)
    return replace(made, load_qps=problem.load_qps, expected_accuracy=0.85, expected_violation_rate=0.03)


@dataclass
class PlayedMaker:
    """Makes tables on the spot; keeps for what. ``meanwhile`` happens while a table is made.

    Of the time that a table takes its process works for ``at_work``, and waits for a core in the rest.
    """

    problems: list[WorkerProblem] = field(default_factory=list)
    broken: bool = False
    takes_s: float = 0.0
    at_work: float = 1.0
    worked_s: float = 0.0
    meanwhile: Callable[[], None] = lambda: None

    async def table(self, problem: WorkerProblem) -> DecisionTable:
        self.problems.append(problem)
        await asyncio.sleep(self.takes_s)
        self.worked_s += self.at_work * self.takes_s
        self.meanwhile()
        if self.broken:
            raise OSError("no more processes")
        return table(problem)


def by_tables(name: str = "digits") -> EndpointPlan:
    return endpoint(name, selection=RamsisSelection())


@dataclass
class PlayedObserver:
    """Knows how many rows queries have."""

    rows: int | None = None

    def usual_rows(self, endpoint: str) -> int | None:
        return self.rows


@dataclass
class PlayedRouter:
    """What the keeper sees of a router, and the plans that it was given."""

    plan: Plan = field(default_factory=lambda: Plan(1, {"digits": by_tables()}))
    workers: int = 2
    load_qps: float = 50.0
    latency: LatencyEstimator = field(default_factory=lambda: LatencyEstimator(0.004))
    devices: tuple[str, ...] = ("cpu",)
    holding: tuple[Candidate, ...] | None = None
    """What workers hold of the candidates, None where they hold all."""
    observer: PlayedObserver = field(default_factory=PlayedObserver)
    tables: dict[str, TableProgress] = field(default_factory=dict)
    applied: list[Plan] = field(default_factory=list)

    def workers_of(self, endpoint: str) -> int:
        return self.workers

    def offered(self, endpoint: str) -> Mapping[str, tuple[Candidate, ...]]:
        candidates = self.plan.endpoints[endpoint].stage.candidates
        if not self.workers:
            return {}
        holding = self.holding
        return {
            device: tuple(each for each in candidates[device] if holding is None or each in holding)
            for device in self.devices
        }

    def anticipated_qps(self, endpoint: str) -> float:
        return self.load_qps

    def apply(self, plan: Plan) -> None:
        assert plan.version == self.plan.version + 1
        self.plan = plan
        self.applied.append(plan)

    def change(self, name: str = "digits", slo_s: float | None = None, **stage: object) -> None:
        """Another objective or other candidates, as `next_plan` puts them in force."""
        changed = self.plan.endpoints[name].with_stage(selection=RamsisSelection(), **stage)
        if slo_s is not None:
            changed = replace(changed, limits=replace(changed.limits, slo_s=slo_s))
        self.plan = Plan(self.plan.version + 1, {**self.plan.endpoints, name: changed})


@dataclass
class Scene:
    router: PlayedRouter = field(default_factory=PlayedRouter)
    maker: PlayedMaker = field(default_factory=PlayedMaker)
    now_s: float = 100.0
    keeper: TableKeeper = field(init=False)

    def __post_init__(self) -> None:
        balancing: dict[str, Balancing] = dict.fromkeys(self.router.plan.endpoints, "round_robin")
        router, maker = cast(Router, self.router), cast(TableMaker, self.maker)
        self.keeper = TableKeeper(router, balancing, maker, lambda: self.now_s, HIGHEST_QPS, lambda: 0.0)

    def selection(self, name: str = "digits") -> RamsisSelection:
        chosen = self.router.plan.endpoints[name].stage.selection
        assert isinstance(chosen, RamsisSelection)
        return chosen

    def in_force(self, name: str = "digits", device: str = "cpu") -> list[DecisionTable]:
        """The tables in force, of all levels."""
        leveled = self.selection(name).leveled.get(device)
        return [] if leveled is None else [each for grid in leveled.grids.values() for each in grid.tables]

    async def all_made(self) -> int:
        """Step until nothing is missing; how many tables that took."""
        before = len(self.maker.problems)
        while await self.keeper.step():
            pass
        return len(self.maker.problems) - before

"""New tables in the background: when workers changed for good, and when the load leaves the grid."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from deployments import table_keeper
from deployments.control_messages import Directive, EndpointTerms
from deployments.router import Router
from deployments.table_keeper import MOST_OVERLOAD, RETRY_S, SETTLED_S, TableKeeper
from dispatch.plan import Plan
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.grid import TableGrid, beyond_table, fluid_capacity_qps
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.table import DecisionTable
from dispatch.table_plan import served_by_tables, with_tables
from dispatch_scene import FAST, SLOW, endpoint

PROBLEM = WorkerProblem.of((FAST, SLOW), 0.1, 2, Poisson(1.0))


def table(problem: WorkerProblem) -> DecisionTable:
    return replace(beyond_table(problem, 1), load_qps=problem.load_qps)


def grid(problem: WorkerProblem) -> TableGrid:
    return TableGrid((table(problem.at_load(100.0)),), beyond_table(problem, 1))


@dataclass
class PlayedRouter:
    """What the keeper sees of a router, and the plans that it was given."""

    plan: Plan = field(default_factory=lambda: Plan(1, {"digits": with_tables(endpoint(), {"cpu": grid(PROBLEM)})}))
    workers: int = 2
    load_qps: float = 50.0
    applied: list[Plan] = field(default_factory=list)
    directive: Directive | None = None

    def workers_of(self, endpoint: str) -> int:
        return self.workers

    def anticipated_qps(self, endpoint: str) -> float:
        return self.load_qps

    def apply(self, plan: Plan) -> None:
        self.plan = plan
        self.applied.append(plan)


@dataclass
class Scene:
    router: PlayedRouter
    keeper: TableKeeper
    now_s: float = 0.0

    @property
    def grid(self) -> TableGrid:
        return served_by_tables(self.router.plan.endpoints.values())["digits"]["cpu"]


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    def make(name: str, problems: Mapping[str, WorkerProblem]) -> dict[str, TableGrid]:
        return {device: grid(problem) for device, problem in problems.items()}

    monkeypatch.setattr(table_keeper, "_make", make)
    monkeypatch.setattr(table_keeper, "_solve", table)
    router = PlayedRouter()
    made = Scene(router, cast(TableKeeper, None))
    made.keeper = TableKeeper(cast(Router, router), {"digits": {"cpu": PROBLEM}}, lambda: made.now_s)
    return made


async def test_nothing_is_made_while_workers_and_load_are_as_planned(scene: Scene) -> None:
    for _ in range(20):
        await scene.keeper.check()
        scene.now_s += 1.0
    assert scene.router.applied == []


async def test_workers_that_changed_for_good_get_tables_of_their_own_once(scene: Scene) -> None:
    scene.router.workers = 1
    await scene.keeper.check()
    scene.now_s += SETTLED_S - 1
    await scene.keeper.check()
    assert scene.router.applied == []
    scene.now_s += 1
    for _ in range(5):
        await scene.keeper.check()
    (plan,) = scene.router.applied
    assert plan.version == 2
    assert scene.grid.workers == 1


async def test_a_worker_that_is_soon_replaced_changes_nothing(scene: Scene) -> None:
    for workers in (1, 1, 2, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0):
        scene.router.workers = workers
        await scene.keeper.check()
        scene.now_s += SETTLED_S / 2
    assert scene.router.applied == []


async def test_a_number_of_workers_must_last_itself(scene: Scene) -> None:
    for workers in (1, 3, 1, 4, 3):
        scene.router.workers = workers
        await scene.keeper.check()
        scene.now_s += SETTLED_S - 1
        await scene.keeper.check()
    assert scene.router.applied == []
    scene.now_s += 1
    await scene.keeper.check()
    assert scene.grid.workers == 3


async def test_after_new_tables_another_number_must_last_as_long_again(scene: Scene) -> None:
    for workers in (1, 2):
        scene.router.workers = workers
        await scene.keeper.check()
        assert scene.grid.workers != workers
        scene.now_s += SETTLED_S
        await scene.keeper.check()
        assert scene.grid.workers == workers


async def test_an_endpoint_whose_tables_fail_is_tried_again_later_and_starves_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def make(name: str, problems: Mapping[str, WorkerProblem]) -> dict[str, TableGrid]:
        tried.append(name)
        if name == "digits":
            raise OSError("no more processes")
        return {device: grid(problem) for device, problem in problems.items()}

    monkeypatch.setattr(table_keeper, "_make", make)
    planned = {name: with_tables(endpoint(name), {"cpu": grid(PROBLEM)}) for name in ("digits", "letters")}
    scene.router.plan = Plan(1, planned)
    problems = {name: {"cpu": PROBLEM} for name in planned}
    scene.keeper = TableKeeper(cast(Router, scene.router), problems, lambda: scene.now_s)
    scene.router.workers = 1
    for _ in range(3):
        await scene.keeper.check()
        scene.now_s += SETTLED_S
    assert tried == ["digits", "letters"]
    scene.now_s += RETRY_S
    await scene.keeper.check()
    assert tried == ["digits", "letters", "digits"]


async def test_a_load_beyond_the_grid_gets_a_table_and_the_next_one_near_it_none(scene: Scene) -> None:
    scene.router.load_qps = 120.0
    await scene.keeper.check()
    assert len(scene.grid.tables) == 2
    assert scene.grid.covers(120.0)
    scene.router.load_qps = scene.grid.loads_qps[-1]
    await scene.keeper.check()
    assert len(scene.router.applied) == 1


async def test_the_last_table_is_for_the_highest_load_that_gets_one(scene: Scene) -> None:
    most_qps = MOST_OVERLOAD * fluid_capacity_qps(PROBLEM)
    scene.router.load_qps = 0.999 * most_qps
    await scene.keeper.check()
    assert scene.grid.loads_qps[-1] == most_qps


async def test_devices_get_their_tables_one_at_a_time(scene: Scene) -> None:
    grids = {device: grid(PROBLEM) for device in ("cpu", "cuda")}
    scene.router.plan = Plan(1, {"digits": with_tables(endpoint(), grids)})
    problems = {"digits": dict.fromkeys(grids, PROBLEM)}
    scene.keeper = TableKeeper(cast(Router, scene.router), problems, lambda: scene.now_s)
    scene.router.load_qps = 120.0
    for covered in (1, 2, 2):
        await scene.keeper.check()
        by_device = served_by_tables(scene.router.plan.endpoints.values())["digits"]
        assert sum(one.covers(120.0) for one in by_device.values()) == covered
    assert len(scene.router.applied) == 2


async def test_a_load_that_no_table_could_help_with_gets_none(scene: Scene) -> None:
    scene.router.load_qps = 1.01 * MOST_OVERLOAD * fluid_capacity_qps(PROBLEM)
    await scene.keeper.check()
    assert scene.router.applied == []


def directive(*offered: Candidate, slo_s: float = 0.1) -> Directive:
    terms = EndpointTerms(slo_s, False, 100, {"cpu": offered}, None, {})
    return Directive(1, 1, {"digits": terms}, {}, {}, {})


async def test_terms_that_the_tables_were_made_for_change_nothing(scene: Scene) -> None:
    scene.router.directive = directive(FAST, SLOW)
    await scene.keeper.check()
    assert scene.router.applied == []


async def test_another_objective_brings_tables_for_it_at_once(scene: Scene) -> None:
    scene.router.directive = directive(FAST, SLOW, slo_s=0.2)
    await scene.keeper.check()
    assert scene.router.plan.endpoints["digits"].slo_s == 0.2
    assert scene.grid.beyond.slo_s == 0.2
    await scene.keeper.check()
    assert len(scene.router.applied) == 1, "made once"


async def test_a_new_variant_is_served_once_there_are_tables_that_choose_it(scene: Scene) -> None:
    better = Candidate("better", 0.99, tuple(2 * latency_s for latency_s in SLOW.latency_s))
    scene.router.directive = directive(FAST, SLOW, better)
    await scene.keeper.check()
    assert "better" in scene.grid.beyond.variants
    offered = scene.router.plan.endpoints["digits"].candidates["cpu"]
    assert {c.variant for c in offered} == set(scene.grid.variants)

"""Plans come from another process, which may die; the event loop goes on meanwhile."""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from catalog.errors import ConfigError, PlannerFailed
from deployments.controller import planner_process
from deployments.controller.planner_process import PlannerProcess
from dispatch.worker_info import workers_of

OBSERVATION = Observation(7.0, {"digits": 50.0}, workers_of({"w1": "cpu", "w2": "cpu"}), {"w1": frozenset({"fast"})})


@dataclass(frozen=True)
class Echo:
    """Says what it was asked, by which process it was answered, and what of the slow imports was there."""

    name: str = "echo"

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        held = {worker: observation.held.get(worker, frozenset()) for worker in observation.devices}
        imported = (name for name in planner_process.SLOW_IMPORTS if name in sys.modules)
        report = SolveReport(Status.HEURISTIC, None, 0.0, (str(os.getpid()), *imported))
        return ClusterPlan(held=held, demand_qps=observation.demand_qps, pool_sizes={"cpu": 2}, report=report)


@dataclass(frozen=True)
class Patient(Echo):
    """Waits for a file, with its process id in another for whoever wants to know that it waits."""

    folder: Path = Path()

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        (self.folder / "pid").write_text(str(os.getpid()))
        while not (self.folder / "go").exists():
            os.sched_yield()
        return super().plan(observation)


@dataclass(frozen=True)
class Mortal(Echo):
    """Kills its process the first ``deaths`` times."""

    folder: Path = Path()
    deaths: int = 1

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        died = len(list(self.folder.iterdir()))
        if died < self.deaths:
            (self.folder / str(died)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().plan(observation)


@dataclass(frozen=True)
class Wrong(Echo):
    """Raises."""

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        raise ConfigError(f"no plan for {', '.join(observation.devices)}")


@pytest.fixture
def process() -> Iterator[PlannerProcess]:
    made = PlannerProcess()
    yield made
    made.close()
    assert multiprocessing.active_children() == []


def planned_by(plan: ClusterPlan | NoPlan) -> int:
    return int(plan.report.explanation[0])


async def test_plans_are_made_from_the_observation_in_one_other_process(process: PlannerProcess) -> None:
    plan = await process.plan(Echo(), OBSERVATION)
    assert isinstance(plan, ClusterPlan)
    assert plan.held == {"w1": frozenset({"fast"}), "w2": frozenset()}
    assert plan.demand_qps == {"digits": 50.0}
    again = await process.plan(Echo(), OBSERVATION)
    assert planned_by(again) == planned_by(plan) != os.getpid()


async def test_the_event_loop_goes_on_while_a_plan_is_made(process: PlannerProcess, tmp_path: Path) -> None:
    planning = asyncio.create_task(process.plan(Patient(folder=tmp_path), OBSERVATION))
    while not (tmp_path / "pid").exists():
        await asyncio.sleep(0.01)
    (tmp_path / "go").touch()  # the planner waits for this
    assert isinstance(await planning, ClusterPlan)


async def test_a_process_that_dies_over_a_plan_is_replaced_and_asked_again(
    process: PlannerProcess, tmp_path: Path
) -> None:
    first = planned_by(await process.plan(Echo(), OBSERVATION))
    assert planned_by(await process.plan(Mortal(folder=tmp_path), OBSERVATION)) != first


async def test_a_process_that_died_between_two_plans_is_replaced(process: PlannerProcess) -> None:
    first = planned_by(await process.plan(Echo(), OBSERVATION))
    os.kill(first, signal.SIGKILL)
    assert planned_by(await process.plan(Echo(), OBSERVATION)) != first


async def test_all_that_waited_for_a_process_that_died_are_answered(process: PlannerProcess, tmp_path: Path) -> None:
    plans = [process.plan(planner, OBSERVATION) for planner in (Mortal(folder=tmp_path), Echo(), Echo())]
    assert len({planned_by(plan) for plan in await asyncio.gather(*plans)}) == 1


async def test_a_planner_that_kills_its_process_every_time_has_failed_and_the_next_plans(
    process: PlannerProcess, tmp_path: Path
) -> None:
    with pytest.raises(PlannerFailed, match="'echo' died 2 times over one plan for 2 workers"):
        await process.plan(Mortal(folder=tmp_path, deaths=3), OBSERVATION)
    assert isinstance(await process.plan(Echo(), OBSERVATION), ClusterPlan)


async def test_errors_of_the_planner_pass_through(process: PlannerProcess) -> None:
    with pytest.raises(ConfigError, match="no plan for w1, w2"):
        await process.plan(Wrong(), OBSERVATION)


async def test_closing_ends_a_plan_that_is_being_made(tmp_path: Path) -> None:
    process = PlannerProcess()
    planning = asyncio.create_task(process.plan(Patient(folder=tmp_path), OBSERVATION))
    while not (tmp_path / "pid").exists():
        await asyncio.sleep(0.01)
    await asyncio.to_thread(process.close)
    with pytest.raises(PlannerFailed, match="'echo' was closed"):
        await planning
    assert multiprocessing.active_children() == []


async def test_the_solvers_are_at_hand_before_the_first_plan(process: PlannerProcess) -> None:
    plan = await process.plan(Echo(), OBSERVATION)
    assert plan.report.explanation[1:] == ("ortools.math_opt.python.mathopt", "ortools.graph.python.min_cost_flow")

"""Plans that reckon with what workers of one node do to each other; the planner is the real one, on the spot."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest
from controller_parts import RUN_S, pool, settings

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from autoscaler.planners.planner import Planner
from deployments.controller.plan_maker import Change, PlanMaker
from deployments.controller.planner_process import PlannerProcess
from deployments.controller.variants.variant_book import VariantBook
from deployments.state.decisions import Decision, Decisions
from deployments.state.saved_state import ControllerState
from dispatch.worker_info import WorkerInfo
from predictor.configuration import Configuration
from virtual_time import in_virtual_time

APART = {name: WorkerInfo("cpu", "cpu", node, machine="m") for name, node in (("w1", "n1"), ("w2", "n2"))}
TOGETHER = {name: WorkerInfo("cpu", "cpu", "n1", machine="m") for name in ("w1", "w2")}


@dataclass
class Twice:
    """Whoever has neighbours takes ``factor`` times as long; remembers who asked."""

    factor: float = 2.0
    threads: set[int] = field(default_factory=set)

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        self.threads.add(threading.get_ident())
        return [(1.0 if each.degree == 1 else self.factor,) * each.degree for each in configurations]


class Here:
    """Plans on the spot, and keeps who planned."""

    def __init__(self) -> None:
        self.planners: list[Planner] = []

    async def plan(self, planner: Planner, observation: Observation) -> ClusterPlan | NoPlan:
        self.planners.append(planner)
        return planner.plan(observation)


@dataclass
class Scene:
    interference: Twice | None
    planner: str = "proteus"

    def __post_init__(self) -> None:
        config = settings(pools={"cpu": pool()}, planner=self.planner)
        self.known = ControllerState(VariantBook(config))
        self.planners = Here()
        self.maker = PlanMaker(
            config, self.known, cast(PlannerProcess, self.planners), lambda _: None, self.interference
        )
        self.decision: Decision = Decisions().begin("a test", 0.0)

    def make(self, qps: float, workers: dict[str, WorkerInfo], now_s: float = 0.0) -> Change:
        made: list[Change | None] = []

        async def scene() -> None:
            observation = Observation(now_s, {"digits": qps}, workers, {})
            made.append(await self.maker.make(observation, self.decision, now_s))

        in_virtual_time(scene)
        (change,) = made
        assert change is not None
        return change


def held(change: Change) -> set[str]:
    return {variant for own in change.plan.held.values() for variant in own}


@pytest.fixture(autouse=True)
def _threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from virtual_time import without_threads

    without_threads(monkeypatch)


def test_workers_of_one_node_are_given_what_is_in_time_beside_each_other() -> None:
    qps = 150.0  # two middle ones serve 200 a second alone, half as many beside each other
    apart = Scene(Twice()).make(qps, APART)
    assert held(apart) == {"middle"}
    assert apart.standings == {}
    scene = Scene(Twice())
    together = scene.make(qps, TOGETHER)
    assert "fast" in held(together)
    assert together.plan.shed == pytest.approx(0.0, abs=1e-3)
    for worker, own in together.plan.held.items():
        for variant in own:
            standing = together.standings[worker, variant]
            assert (standing.predicted, standing.reckoned, standing.machine) == (2.0, 2.0, "m")
    assert any("Predicted slowdown" in words for words in together.plan.report.explanation)
    assert {each["worker"] for each in scene.decision.neighbours} == {"w1", "w2"}
    assert all(each["reckoned"] == 2.0 and each["node"] == "n1" for each in scene.decision.neighbours)


def test_without_a_model_or_neighbours_the_plan_is_the_planners_own() -> None:
    plain, alone = Scene(None), Scene(Twice())
    for each in (plain.make(150.0, APART), alone.make(150.0, APART), plain.make(150.0, TOGETHER)):
        assert held(each) == {"middle"}
        assert each.plan.slowdowns == {}
        assert each.standings == {}
    assert plain.decision.neighbours == []


def test_what_was_measured_corrects_the_prediction_of_the_next_plan() -> None:
    scene = Scene(Twice(1.2))
    first = scene.make(60.0, TOGETHER)
    counts = [0] * BIN_COUNT
    counts[bin_of(2.0)] = 20_000
    for standing in first.standings.values():
        scene.known.slowdowns.on_counts(standing, counts, 1.0, 0.0)
    second = scene.make(60.0, TOGETHER, now_s=1.0)
    measured = {each.variant: each for each in second.standings.values() if each.variant in held(first)}
    assert measured
    for standing in measured.values():
        assert standing.predicted == 1.2
        assert standing.reckoned == pytest.approx(2.4, rel=0.1)


def test_planners_that_solve_nothing_say_what_is_predicted_as_well() -> None:
    change = Scene(Twice(), "everywhere").make(10.0, TOGETHER)
    assert change.standings.keys() == {(worker, variant) for worker in TOGETHER for variant in RUN_S}
    assert all(each.beside is None for each in change.standings.values())

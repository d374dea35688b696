"""One scenario through both hosts of the control path: the same reports bring the same plans, one after the other."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from controller_parts import endpoint, settings
from forecast_scene import forecast, saved, trained, waves
from numpy.typing import NDArray

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.cluster.plan_record import from_record
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import DemandEstimate, MovingMaximum
from autoscaler.demand.forecast_demand import ForecastDemand
from autoscaler.demand.recent_load import RecentLoad
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.placement.serving import serving_plan
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from controller_scene import PlannerHere, Service, play
from deployments.controller.controller import Controller
from deployments.controller.plan_maker import PlanMaker
from deployments.controller.variants.variant_book import VariantBook, cluster_of
from deployments.messages.control import WINDOW_S
from deployments.messages.control_settings import ControlSettings
from deployments.state.saved_state import ControllerState
from dispatch.latency.estimator import LatencyEstimator
from dispatch.selection.registry import create_selection
from dispatch.worker_info import workers_of
from forecast.artifact import Model
from forecast.forecaster import Forecaster
from forecast.training.task import ForecastTask
from simulator.control_path import ControlPath, ControlTimes
from simulator.host import Host
from simulator.latency import PlannedLatency
from virtual_time import EPOCH_S, until, wall_clock

LOADS_QPS = [(5.0, {"digits": 10.0, "urgent": 4.0}), (6.0, {"digits": 300.0, "urgent": 4.0})]
LOADS_QPS += [(9.0, {"digits": 10.0, "urgent": 4.0}), (6.0, {"digits": 60.0, "urgent": 100.0})]
"""Seconds of each load, by endpoint: a quiet start, a burst of one, quiet again, a burst of both."""

SETTINGS = settings(endpoints={"digits": endpoint(slo_s=0.4), "urgent": endpoint(slo_s=0.2)}, interval_s=8.0)
LOAD_S = 0.5
QUANTILE = 0.75
WORKERS = {"w1": "cpu", "w2": "cpu"}

Decided = tuple[str, dict[str, float], dict[str, frozenset[str]], dict[str, dict[str, float]]]
"""Why a plan was made, the load that it was made for, and what it says."""


def arrivals_s() -> dict[str, NDArray[np.float64]]:
    """As many arrivals in each window as a played router reports, spread over it."""
    found: dict[str, list[NDArray[np.float64]]] = {"digits": [], "urgent": []}
    start_s, due = 0.0, dict.fromkeys(found, 0.0)
    for length_s, loads_qps in LOADS_QPS:
        for _ in range(int(length_s / WINDOW_S)):
            for name, qps in loads_qps.items():
                due[name] += qps * WINDOW_S
                count = int(due[name])
                due[name] -= count
                found[name].append(start_s + (np.arange(count) + 0.5) * WINDOW_S / max(count, 1))
            start_s += WINDOW_S
    return {name: np.concatenate(windows) for name, windows in found.items()}


def decided(reason: str, plan: ClusterPlan) -> Decided:
    shares = {name: {w: round(share, 6) for w, share in own.items()} for name, own in plan.shares.items()}
    return reason, dict(plan.demand_qps), dict(plan.held), shares


def forecaster_of_waves() -> Model:
    """It looks no further back than the scene is long, and says more than there is."""
    return trained(waves(3600, period_s=60), task=ForecastTask(context_s=4, window_s=20, block_s=2))


def simulated(forecaster: Forecaster | None) -> list[Decided]:
    known = ControllerState(VariantBook(SETTINGS))
    maker = PlanMaker(SETTINGS, known, PlannerHere(), lambda sizes: None)  # type: ignore[arg-type]
    cluster = cluster_of(SETTINGS, maker.candidates(0.0), known.book, sizing=False)
    planner = ProteusPlanner(cluster)
    demand: DemandEstimate = MovingMaximum(endpoints=SETTINGS.endpoints)
    if forecaster is not None:
        demand = ahead = ForecastDemand(demand, RecentLoad(600), QUANTILE)
        ahead.use({"digits": forecaster})
    loop = ControlLoop(SETTINGS.interval_s, demand, BurstTrigger(), _first(planner))
    batching = create_selection("adaptive_batching", None, [])
    control = ControlPath(
        loop,
        planner,
        lambda plan, version: serving_plan(
            cluster, plan, WORKERS, version, batching, drop_late=True, max_queued_rows=500
        ),
        WORKERS,
        ControlTimes(WINDOW_S, PlannerHere.solve_s, LOAD_S),
    )
    estimator = LatencyEstimator(SETTINGS.transport_s)  # as live, where batches follow while results are on their way
    Host(control.plan, WORKERS, PlannedLatency(*cluster.endpoints), control, estimator).run(arrivals_s())
    return [decided(change.reason, change.plan) for change in control.changes if isinstance(change.plan, ClusterPlan)]


def _first(planner: ProteusPlanner) -> ClusterPlan:
    """Live, the first report comes before the first plan."""
    plan = planner.plan(Observation(0.0, LOADS_QPS[0][1], workers_of(WORKERS), {}))
    assert isinstance(plan, ClusterPlan)
    return plan


def live(monkeypatch: pytest.MonkeyPatch, settings: ControlSettings) -> list[Decided]:
    found: list[Decided] = []

    async def scene(service: Service) -> None:
        service.pools["cpu"].load_s = LOAD_S
        service.pools["cpu"].come(*WORKERS)
        router = service.router("r1")
        controller: Controller | None = None
        end_s = EPOCH_S
        for length_s, loads_qps in LOADS_QPS:
            router.qps = dict(loads_qps)
            controller = controller or await service.control()
            end_s += length_s
            await until(lambda: wall_clock() >= end_s + 0.02, within_s=length_s + 1.0)  # noqa: B023
        await service.steady()
        found.extend(
            decided(each.reason, from_record(each.plan)) for each in service.decisions if each.plan is not None
        )

    play(monkeypatch, scene, settings)
    return found


@pytest.mark.parametrize("ahead", [False, True], ids=["for the load that is there", "for the load to come"])
def test_the_same_reports_bring_the_same_plans_in_the_simulator_and_live(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ahead: bool
) -> None:
    model = forecaster_of_waves() if ahead else None
    config = SETTINGS
    if model is not None:
        artifacts = {"digits": saved(model, tmp_path)}
        config = replace(SETTINGS, forecast=forecast(artifacts=artifacts, quantile=QUANTILE, max_age_s=math.inf))
    first, *in_simulation = simulated(None if model is None else model.forecaster)
    start, *on_workers = live(monkeypatch, config)
    assert (first[0], start[0]) == ("the initial plan", "the application starts")
    assert len({frozenset(held.items()) for _, _, held, _ in in_simulation}) >= 2, "the plans differ from one another"
    assert len(in_simulation) > 5
    both = min(len(on_workers), len(in_simulation))
    assert both >= max(len(on_workers), len(in_simulation)) - 1, "one host may see one report more at the end"
    assert on_workers[:both] == in_simulation[:both]

"""The same load in virtual time: the planner and the control loop of the controller, with its times as measured."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoscaler.cluster.cluster import Cluster
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import MovingMaximum
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.placement.serving import serving_plan
from autoscaler.planners.registry import PlannerOptions, planner_kind
from benchmarks.live_proteus.live import Played
from benchmarks.live_proteus.loads import Load
from benchmarks.live_proteus.planners import begin_with, register_baselines
from benchmarks.live_proteus.scene import BATCHING, SYSTEMS, TRANSPORT_MS, Scene
from benchmarks.live_ramsis.ways import Ways
from benchmarks.proteus.testbed import worker_ids
from catalog.catalogue import load_catalogue
from deployments.controller.variants.variant_book import VariantBook, cluster_of
from deployments.messages.control import WINDOW_S
from dispatch.latency.estimator import LatencyEstimator
from dispatch.query import Batch
from dispatch.selection.registry import BATCHING as POLICIES
from dispatch.worker_info import WorkerInfo
from serve_app.build.control import control_settings
from serve_app.build.profiles import profiles_for
from serve_app.config.read import app_config
from simulator.control_path import ControlPath, ControlTimes
from simulator.host import Host
from simulator.record import Record

MAX_QUEUED_ROWS = 10**6

IDLE_S = 10.0
"""Before the load there is none for so long, as live, where planners have scaled to nothing by then."""


DRAWS = 5
"""A load is played so many times, with other ways and at other instants between reports: who plans by the second
decides otherwise then."""


@dataclass(frozen=True)
class Simulated:
    """A load that was played; its queries began to come at ``begin_s``."""

    record: Record
    begin_s: float


def simulate(scene: Scene, system: str, load: Load, played: Played, folder: Path) -> list[Simulated]:
    """The queries as they left, `IDLE_S` later and more, on workers that take the times of the profiles and need ways
    as measured."""
    os.environ.update(load.known(scene.total_workers).as_environment())
    register_baselines()
    cluster, options = cluster_for(scene, system, folder, played.path_tail_s)
    return [_play(scene, system, played, cluster, options, draw) for draw in range(DRAWS)]


def _play(scene: Scene, system: str, played: Played, cluster: Cluster, options: PlannerOptions, draw: int) -> Simulated:
    """From the first plan that there was live, which is all that some baselines ever make: of plans that are as good
    it is one, and it was made before any way was measured."""
    kind = planner_kind(SYSTEMS[system].planner)
    planner = kind.make(cluster, options)
    workers = worker_ids(scene.workers)
    infos = {worker: WorkerInfo(pool, pool) for worker, pool in workers.items()}
    demand = MovingMaximum(endpoints=list(played.sent_s))
    initial = played.first.on(workers)
    begin_with(cluster, initial)
    loop = ControlLoop(
        SYSTEMS[system].interval_s if kind.by_load else float("inf"),
        demand,
        BurstTrigger() if kind.by_load else None,
        initial,
    )
    control = ControlPath(
        loop,
        planner,
        lambda plan, version: serving_plan(
            cluster,
            plan,
            workers,
            version,
            POLICIES[BATCHING],
            drop_late=False,
            max_queued_rows=MAX_QUEUED_ROWS,
        ),
        workers,
        ControlTimes(WINDOW_S, played.solve_s, played.load_s),
        infos,
    )
    begin_s = IDLE_S + draw / DRAWS
    latency = MeasuredWay(cluster, Ways.joined([played.ways], begin_s), scene.seed + draw)
    host = Host(control.plan, workers, latency, control, LatencyEstimator(TRANSPORT_MS / 1e3))
    return Simulated(host.run({name: each + begin_s for name, each in played.sent_s.items()}), begin_s)


def cluster_for(scene: Scene, system: str, folder: Path, way_s: float) -> tuple[Cluster, PlannerOptions]:
    """What the controller of a service plans for, where batches need ``way_s`` to workers and back."""
    args = scene.content(system, folder)["applications"][0]["args"]
    register_baselines()
    app = app_config(args)
    catalogue = load_catalogue(app.catalogue)
    settings = control_settings(app, catalogue, profiles_for(app, catalogue))
    book = VariantBook(settings)
    factor = way_s / settings.transport_s
    candidates = {
        name: book.candidates(endpoint, lambda _: 1.0, lambda _: factor, ())
        for name, endpoint in settings.endpoints.items()
    }
    options = PlannerOptions(
        scene.total_workers / len(settings.endpoints), settings.ipa, settings.proteus, settings.per_worker
    )
    return cluster_of(settings, candidates, book, sizing=False), options


class MeasuredWay:
    """Runs as the profiles say, ways as those of batches that were launched about then."""

    def __init__(self, cluster: Cluster, ways: Ways, seed: int) -> None:
        self._runs_s: Mapping[tuple[str, str], tuple[float, ...]] = {
            (device, candidate.variant): candidate.runs_s
            for endpoint in cluster.endpoints
            for device, candidates in endpoint.candidates.items()
            for candidate in candidates
        }
        self._ways = ways
        self._rng = np.random.default_rng(seed)

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """The run of the profile, and the next way."""
        return self._runs_s[device, batch.variant][batch.rows], self._ways.draw_s(batch.launched_s, self._rng)

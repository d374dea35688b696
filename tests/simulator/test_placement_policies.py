"""Placements compared where neighbours slow each other down: the real dispatcher, planner and control loop."""

import numpy as np

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import MovingMaximum
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.placement.interference import PredictedInterference
from autoscaler.placement.serving import serving_plan
from autoscaler.planners.baselines.least_loaded import LeastLoaded
from autoscaler.planners.neighbours.neighbours import Neighbours
from autoscaler.planners.planner import Planner
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import linear
from dispatch.batching.adaptive_batching import AdaptiveBatching
from interference_scene import PressureLaw, on_nodes
from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.kinds import FOREST
from predictor.measurements import Measurements, Run
from predictor.predictor import SlowdownPredictor
from predictor.training import fit
from predictor.variant_table import VariantTable
from simulator.control_path import ControlPath, ControlTimes
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.node_interference import NodeInterference

NAMES = ("heavy-s", "heavy-l", "light-s", "light-l", "plain-s", "plain-l")
TRUTH = PressureLaw(
    pressure=dict(zip(NAMES, (0.5, 0.8, 0.02, 0.03, 0.1, 0.15), strict=True)),
    sensitivity=dict(zip(NAMES, (0.1, 0.1, 0.3, 0.3, 1.2, 1.5), strict=True)),
)
"""Heavy ones harm plain ones and are hardly harmed themselves."""

ENDPOINTS = tuple(
    Endpoint(
        kind,
        0.2,
        {"cpu": (linear(f"{kind}-s", 0.8, 0.004, 0.006), linear(f"{kind}-l", 0.95, 0.01, 0.02))},
    )
    for kind in ("heavy", "light", "plain")
)
CLUSTER = Cluster(ENDPOINTS, (Pool("cpu"),))
WORKERS = on_nodes(2, 2, 2, 2)
LOAD_QPS = {"heavy": 110.0, "light": 110.0, "plain": 130.0}
DURATION_S = 40.0


def forest(rng: np.random.Generator) -> SlowdownPredictor:
    """Has seen pairs and triples, with noise, and knows metrics of the variants alone that tell of their law."""
    seen = [Configuration("m", tuple(rng.choice(NAMES, rng.integers(2, 4)).tolist())) for _ in range(200)]
    runs = tuple(
        Run(each, (10.0,) * each.degree, tuple(10.0 * factor * rng.normal(1.0, 0.02) for factor in slowdowns))
        for each, slowdowns in zip(seen, TRUTH.slowdowns(seen), strict=True)
    )
    metrics = {("m", n): {"hw_use": TRUTH.pressure[n], "hw_need": TRUTH.sensitivity[n]} for n in NAMES}
    return fit(examples_of(Measurements(runs)), VariantTable(metrics), FOREST)


def violation_ratio(planner: Planner, seed: int) -> float:
    rng = np.random.default_rng(seed)
    arrivals_s = {n: np.cumsum(rng.exponential(1 / qps, int(qps * DURATION_S))) for n, qps in LOAD_QPS.items()}
    devices = {worker: info.device for worker, info in WORKERS.items()}
    initial = planner.plan(Observation(0.0, LOAD_QPS, WORKERS, {}))
    assert isinstance(initial, ClusterPlan)
    loop = ControlLoop(10.0, MovingMaximum(), BurstTrigger(), initial)
    control = ControlPath(
        loop,
        planner,
        lambda plan, version: serving_plan(
            CLUSTER, plan, devices, version, AdaptiveBatching(), drop_late=False, max_queued_rows=10**6
        ),
        devices,
        ControlTimes(1.0, 0.1, 1.0),
        WORKERS,
    )
    nodes = NodeInterference(WORKERS, TRUTH)
    record = Host(control.plan, devices, PlannedLatency(*ENDPOINTS), control, nodes=nodes).run(arrivals_s)
    return float(np.mean(record.done_s > record.deadline_s))


def test_the_predictors_placement_violates_less_than_the_least_loaded_one_and_little_more_than_the_oracles() -> None:
    predicted = PredictedInterference(forest(np.random.default_rng(0)))
    planners: dict[str, Planner] = {
        "least_loaded": LeastLoaded(ProteusPlanner(CLUSTER), CLUSTER),
        "predicted": Neighbours(ProteusPlanner, CLUSTER, predicted),
        "oracle": Neighbours(ProteusPlanner, CLUSTER, TRUTH),
    }
    ratio = {name: np.mean([violation_ratio(planner, seed) for seed in (3,)]) for name, planner in planners.items()}
    assert ratio["predicted"] < 0.5 * ratio["least_loaded"]
    assert ratio["predicted"] <= ratio["oracle"] + 0.01

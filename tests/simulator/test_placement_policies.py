"""Placements compared where neighbours slow each other down: the real dispatcher, planner and control loop."""

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import RandomForestRegressor

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
from predictor.predictor import Prediction
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


class Forest:
    """A forest that has seen every pair and triple of two machines, with noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        seen = [Configuration("m", tuple(rng.choice(NAMES, rng.integers(2, 4)))) for _ in range(400)]
        slowdown = [each * rng.normal(1.0, 0.02) for own in TRUTH.slowdowns(seen) for each in own]
        self._forest = RandomForestRegressor(40, random_state=0).fit(_features(seen), slowdown)

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        slowdown = self._forest.predict(_features(configurations))
        return Prediction(slowdown, np.zeros_like(slowdown))


def _features(configurations: Sequence[Configuration]) -> np.ndarray:
    """For each variant who it is, and how many of each kind are beside it."""
    return np.array(
        [
            [*(float(variant == name) for name in NAMES), *(each.beside(n).count(name) for name in NAMES)]
            for each in configurations
            for n, variant in enumerate(each.variants)
        ]
    )


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
    predicted = PredictedInterference(Forest(np.random.default_rng(0)))
    planners: dict[str, Planner] = {
        "least_loaded": LeastLoaded(ProteusPlanner(CLUSTER), CLUSTER),
        "predicted": Neighbours(ProteusPlanner, CLUSTER, predicted),
        "oracle": Neighbours(ProteusPlanner, CLUSTER, TRUTH),
    }
    ratio = {name: np.mean([violation_ratio(planner, seed) for seed in (3,)]) for name, planner in planners.items()}
    assert ratio["predicted"] < 0.5 * ratio["least_loaded"]
    assert ratio["predicted"] <= ratio["oracle"] + 0.01

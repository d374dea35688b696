"""Workers that neighbours slow down so far that no batch is in time."""

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.neighbours.neighbours import Neighbours
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import endpoint, even, linear
from dispatch.worker_info import WorkerInfo
from interference_scene import PairLaw, on_nodes

TWO = Cluster(
    (endpoint("a", linear("a", 0.9, 0.0, 0.45)), endpoint("b", even("b", 0.9, 50.0), device="gpu")),
    (Pool("cpu"), Pool("gpu")),
)
WORKERS = on_nodes(1, 1, 1) | {"g": WorkerInfo("gpu", node="n2", machine="m")}
"""w2 stands beside g, which runs what slows it down to 540 ms; two batches have a second."""


def test_one_is_left_idle_where_others_bear_the_load() -> None:
    options = ProteusOptions(headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0)
    planner = Neighbours(lambda cluster: ProteusPlanner(cluster, options), TWO, PairLaw({("a", "b"): 0.2}))
    plan = planner.plan(Observation(0.0, {"a": 1.0, "b": 10.0}, WORKERS, {}))
    assert isinstance(plan, ClusterPlan)
    assert {name: round(qps, 3) for name, qps in plan.served_qps.items()} == {"a": 1.0, "b": 10.0}
    assert plan.shares["a"].keys() == {"w0", "w1"}
    assert any(words.startswith("w2 run nothing") for words in plan.report.explanation)

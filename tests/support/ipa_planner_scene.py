"""A pipeline of three stages, and plans of it whose every limit is checked."""

from autoscaler.cluster.cluster import Cluster, Endpoint, Stage
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.ipa.ipa_planner import IpaPlanner
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler_scene import linear
from ipa_scene import broken

OPTIONS = IpaOptions(beta=0.01)


def pipeline(name: str, *stages: Stage, slo_s: float = 1.0, **more: object) -> Endpoint:
    candidates: dict[str, tuple] = {}  # type: ignore[type-arg]
    for each in stages:
        for device, own in each.candidates.items():
            candidates[device] = candidates.get(device, ()) + own
    return Endpoint(name, slo_s, candidates, stages, **more)  # type: ignore[arg-type]


CUT = Stage("cut", (), {"cpu": (linear("cut", 0.9, 0.005, 0.001),)})


READ = Stage("read", ("cut",), {"cpu": (linear("read-s", 0.8, 0.002, 0.002), linear("read-l", 0.95, 0.01, 0.01))})


SUM = Stage("sum", ("read",), {"cpu": (linear("sum", 1.0, 0.001, 0.0001),)})


NUMBERS = pipeline("numbers", CUT, READ, SUM)


ONE_BYTE = dict.fromkeys(("cut", "read-s", "read-l", "sum"), 1)


def planned(cluster: Cluster, observation: Observation, options: IpaOptions = OPTIONS) -> ClusterPlan:
    plan = IpaPlanner(cluster, options).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(cluster, observation, plan) == []
    return plan

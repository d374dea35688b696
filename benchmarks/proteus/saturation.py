"""How much a cluster can serve at most."""

from collections.abc import Mapping

from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler.planners.proteus.search import Problem
from autoscaler.planners.proteus.stages import largest_headroom
from benchmarks.proteus.testbed import Testbed


def saturation_qps(testbed: Testbed, mix: Mapping[str, float]) -> float:
    """The largest load in these parts (in sum 1) that can be served whole, in queries per second within 0.1%."""
    there = list(testbed.workers.values())
    workers = {pool.device: there.count(pool.device) for pool in testbed.cluster.pools}
    return largest_headroom(Problem(ProteusPlanner(testbed.cluster).columns, workers, mix))

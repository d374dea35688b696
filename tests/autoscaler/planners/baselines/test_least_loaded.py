"""Plans on the least loaded nodes."""

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.planners.baselines.least_loaded import LeastLoaded
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import cluster, endpoint, even
from interference_scene import on_nodes
from plan_checker import broken

EXACT = ProteusOptions(headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0, use_idle_workers=False)
BOTH = cluster(endpoint("a", even("a", 0.9, 10.0)), endpoint("b", even("b", 0.9, 10.0)))


def planned(demand_qps: dict[str, float], *nodes: int, held: dict[str, frozenset[str]] | None = None) -> ClusterPlan:
    observation = Observation(0.0, demand_qps, on_nodes(*nodes), held or {})
    plan = LeastLoaded(ProteusPlanner(BOTH, EXACT), BOTH).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(BOTH, observation, plan) == []
    return plan


def test_every_node_gets_the_next_set_while_it_has_the_least_to_do() -> None:
    # a: two workers nearly busy, b: one half busy
    plan = planned({"a": 19.0, "b": 5.0}, 2, 2)
    assert {worker: set(variants) for worker, variants in plan.held.items()} == {"w0": {"a"}, "w2": {"a"}, "w1": {"b"}}
    assert plan.shares["b"].keys() == {"w1"}


def test_a_worker_of_the_node_that_holds_the_set_takes_it() -> None:
    plan = planned({"a": 19.0, "b": 5.0}, 2, 2, held={"w1": frozenset("a"), "w0": frozenset("b")})
    assert (plan.held["w1"], plan.held["w2"], plan.held["w0"]) == ({"a"}, {"a"}, {"b"})


def test_no_plan_is_passed_on() -> None:
    answer = NoPlan(SolveReport(Status.NO_ANSWER, None, 1.0))

    class Silent:
        name = "silent"

        def plan(self, observation: Observation) -> NoPlan:
            return answer

    found = LeastLoaded(Silent(), Cluster((), ()))
    assert (found.plan(Observation(0.0, {}, {}, {})), found.name) == (answer, "silent_least_loaded")

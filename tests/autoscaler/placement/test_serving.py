"""From a planner's plan to what the dispatcher serves."""

from collections import Counter
from dataclasses import replace

import pytest

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.serving import next_plan, services, serving_plan
from autoscaler_scene import cluster, endpoint, held, linear, workers
from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.bin_packing import BinPacking
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection

BOTH = cluster(
    endpoint("a", linear("a1", 0.9, 0.01, 0.01), linear("late", 1.0, 0.06, 0.01), slo_s=0.1),
    endpoint("b", linear("b1", 0.9, 0.0, 0.01), slo_s=0.2),
)


def plan_of(shares: dict[str, dict[str, float]], holding: dict[str, frozenset[str]]) -> ClusterPlan:
    qps = dict.fromkeys(shares, 1.0)
    return ClusterPlan(
        held=holding,
        shares=shares,
        demand_qps=qps,
        served_qps=qps,
        capacity_qps=qps,
        report=SolveReport(Status.HEURISTIC, None, 0.0),
    )


def served(plan: ClusterPlan, made: Cluster = BOTH, there: dict[str, str] | None = None) -> dict[str, EndpointPlan]:
    given = serving_plan(made, plan, there or workers(cpu=3), 7, GreedySelection(), drop_late=True, max_queued_rows=50)
    assert given.version == 7
    return dict(given.endpoints)


def picks(plan: EndpointPlan, names: list[str], count: int) -> Counter[str]:
    loads = [WorkerLoad(name) for name in names]
    assert plan.stage.balancer is not None
    return Counter(names[plan.stage.balancer.pick(loads, 0.0)] for _ in range(count))


def test_every_endpoint_is_served_with_the_batches_that_its_objective_allows() -> None:
    plans = served(plan_of({"a": {"cpu-0": 1.0}}, held(cpu_0="a1")))
    assert set(plans) == {"a", "b"}
    assert [(c.variant, c.max_batch) for c in plans["a"].stage.candidates["cpu"]] == [("a1", 4)]
    assert [(c.variant, c.max_batch) for c in plans["b"].stage.candidates["cpu"]] == [("b1", 8)]
    assert plans["a"].limits == EndpointLimits(0.1, True, 50)


def test_queries_go_to_workers_by_their_shares() -> None:
    shares = {"a": {"cpu-0": 0.1, "cpu-1": 0.2}, "b": {"cpu-2": 0.5}}
    plans = served(plan_of(shares, held(cpu_0="a1", cpu_1="a1", cpu_2="b1")))
    names = ["cpu-0", "cpu-1", "cpu-2"]
    assert picks(plans["b"], names, 10) == {"cpu-2": 10}
    given = picks(plans["a"], names, 30)
    assert set(given) == {"cpu-0", "cpu-1"}  # alike in what they are and hold: whoever has the least to do


def test_kinds_of_workers_get_the_sum_of_their_shares() -> None:
    made = Cluster(BOTH.endpoints, (Pool("cpu"), Pool("g+u", max_workers=2)))
    shares = {"a": {"cpu-0": 0.25, "g+u-0": 0.25, "g+u+1": 0.5}}
    holding = {"cpu-0": frozenset({"a1"}), "g+u-0": frozenset({"a1"}), "g+u+1": frozenset({"a1"})}
    plans = served(plan_of(shares, holding), made, {"cpu-0": "cpu", "g+u-0": "g+u"})
    given = picks(plans["a"], ["cpu-0", "g+u-0", "g+u+1"], 40)
    assert given["cpu-0"] == pytest.approx(10, abs=1)
    assert given["g+u-0"] == pytest.approx(given["g+u+1"], abs=1)  # one kind: the worker to come counts as its device


def test_endpoints_that_share_a_worker_leave_room_for_each_other() -> None:
    shares = {"a": {"cpu-0": 1.0}, "b": {"cpu-0": 1.0}}
    plans = served(plan_of(shares, {"cpu-0": frozenset({"a1", "b1"})}))
    # A third of the shorter objective, 33 ms: 10 + 10 n for a, 10 n for b.
    assert [(c.variant, c.max_batch) for c in plans["a"].stage.candidates["cpu"]] == [("a1", 2)]
    assert [(c.variant, c.max_batch) for c in plans["b"].stage.candidates["cpu"]] == [("b1", 3)]


def test_endpoints_that_share_a_variant_have_batches_within_the_shortest_objective_of_a_worker() -> None:
    one = linear("one", 0.9, 0.0, 0.01)
    both = cluster(endpoint("a", one, slo_s=0.1), endpoint("b", one, slo_s=0.2))
    apart = {"a": {"cpu-0": 1.0}, "b": {"cpu-1": 1.0}}
    together = {"a": {"cpu-0": 1.0}, "b": {"cpu-0": 0.1, "cpu-1": 0.9}}
    for shares, rows in ((apart, {"a": 5, "b": 8}), (together, {"a": 5, "b": 5})):
        plans = served(plan_of(shares, held(cpu_0="one", cpu_1="one")), both)
        assert {name: plan.stage.candidates["cpu"][0].max_batch for name, plan in plans.items()} == rows


def test_workers_that_hold_the_same_for_other_endpoints_are_of_another_kind() -> None:
    one = linear("one", 0.9, 0.0, 0.01)
    both = cluster(endpoint("a", one, slo_s=0.2), endpoint("b", one, slo_s=0.2))
    shares = {"a": {"cpu-0": 0.25, "cpu-1": 0.75}, "b": {"cpu-0": 1.0}}
    plans = served(plan_of(shares, held(cpu_0="one", cpu_1="one")), both)
    assert picks(plans["a"], ["cpu-0", "cpu-1"], 40) == {"cpu-0": 10, "cpu-1": 30}


def test_members_of_an_ensemble_keep_their_balancers_and_have_batches_up_to_the_objective() -> None:
    plan = replace(plan_of({}, held(cpu_0="a1", cpu_1="late")), own_balancing=frozenset({"a"}))
    limits = {name: EndpointLimits(slo_s, False, 50) for name, slo_s in (("a", 0.1), ("b", 0.2))}
    made = services(BOTH, plan, workers(cpu=2), limits)
    assert made["a"].shares is None
    assert made["b"].shares == {}
    batches = {c.variant: c.max_batch for c in made["a"].candidates["cpu"]}
    assert batches == {"a1": 8, "late": 4}, "10 + 10 n and 60 + 10 n ms"
    balancers = {name: BinPacking() for name in ("a1", "late")}
    stages = {name: StagePlan({}, GreedySelection(), balancer) for name, balancer in balancers.items()}
    built = Plan(1, {"a": EndpointPlan("a", limits["a"], stages)})
    given = next_plan(built, {"a": made["a"]}, {}).endpoints["a"]
    assert {name: stage.balancer for name, stage in given.stages.items()} == balancers
    assert {name: [c.variant for c in stage.candidates["cpu"]] for name, stage in given.stages.items()} == {
        "a1": ["a1"],
        "late": ["late"],
    }


def test_batches_are_in_time_beside_the_worst_neighbours_that_a_busy_worker_has() -> None:
    shares = {"a": {"cpu-0": 0.5, "cpu-1": 0.5}, "b": {"cpu-2": 1.0}}
    plan = plan_of(shares, held(cpu_0="a1", cpu_1="a1", cpu_2="b1", cpu_3="b1"))
    slower = replace(plan, slowdowns={"cpu-0": {"a1": 1.2}, "cpu-1": {"a1": 1.6}, "cpu-3": {"b1": 9.0}})
    plans = served(slower, there=workers(cpu=4))
    # half of 100 ms: 16 + 16 n; cpu-3 gets no queries
    (a1,) = plans["a"].stage.candidates["cpu"]
    assert (a1.variant, a1.max_batch, a1.latency_s[2]) == ("a1", 2, pytest.approx(0.048))
    assert [c.max_batch for c in plans["b"].stage.candidates["cpu"]] == [8]


def test_a_worker_that_is_too_slow_beside_its_neighbour_leaves_the_others_of_its_kind_their_variant() -> None:
    shares = {"a": {"cpu-0": 0.5, "cpu-1": 0.5}}
    plan = replace(plan_of(shares, held(cpu_0="a1", cpu_1="a1")), slowdowns={"cpu-1": {"a1": 4.0}})
    (a1,) = served(plan)["a"].stage.candidates["cpu"]
    assert (a1.variant, a1.max_batch) == ("a1", 4), "as large as without neighbours: half of 100 ms for 10 + 10 n"
    assert a1.latency_s[1] == pytest.approx(0.08), "and as long as on the worst"


def test_while_a_pool_shrinks_every_endpoint_has_somebody_whatever_the_others_need() -> None:
    made = cluster(
        endpoint("patient", linear("p1", 0.9, 0.09, 0.01), linear("p2", 0.8, 0.0, 0.02), slo_s=0.5),
        endpoint("urgent", linear("u1", 0.9, 0.0, 0.01), slo_s=0.05),
    )
    everything = held(cpu_0="p1 p2 u1", cpu_1="p1 p2 u1")
    halves = {"cpu-0": 0.5, "cpu-1": 0.5}
    plans = served(plan_of({"patient": halves, "urgent": halves}, everything), made, workers(cpu=2))
    sizes = {c.variant: c.max_batch for each in plans.values() for c in each.stage.candidates["cpu"]}
    assert sizes == {"p1": 1, "p2": 1, "u1": 1}, "a quarter of 50 ms is too little for all of them"

"""The planner against all placements there are, on clusters small enough to try them all."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, Status
from autoscaler.planners.proteus import search
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, cluster, endpoint, even, observed, some_cluster, some_observation, workers
from every_placement import Loads, best_of, placements
from plan_checker import broken

EXACT = ProteusOptions(headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0, limit_s=60.0)
NEAR = 1e-5
"""What the stages may give up for a solver's tolerance, relative."""


def tiny(rng: np.random.Generator, most_workers: int = 2) -> tuple[Cluster, Observation]:
    cluster = some_cluster(rng, device_types=2)
    return cluster, some_observation(rng, cluster, most_workers=most_workers, least_qps=1e-3)


def present(cluster: Cluster, observation: Observation) -> dict[str, int]:
    there = list(observation.devices.values())
    return {pool.device: there.count(pool.device) for pool in cluster.pools}


def served(plan: ClusterPlan) -> float:
    return sum(plan.served_qps.values())


def accuracy(plan: ClusterPlan) -> float:
    return sum(plan.accuracy.get(name, 0.0) * qps for name, qps in plan.served_qps.items())


def each_accuracy(plan: ClusterPlan) -> list[float]:
    """Of each endpoint per query of its demand, the lowest first."""
    return sorted(plan.accuracy.get(n, 0.0) * plan.served_qps[n] / qps for n, qps in plan.demand_qps.items())


def planned(cluster: Cluster, observation: Observation, options: ProteusOptions = EXACT, **more: Any) -> ClusterPlan:
    plan = ProteusPlanner(cluster, options, **more).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(cluster, observation, plan, per_worker=options.per_worker) == []
    return plan


@settings(max_examples=100, derandomize=True)
@given(SEEDS)
def test_no_placement_serves_more_and_none_that_serves_as_much_is_more_accurate(rng: np.random.Generator) -> None:
    cluster, observation = tiny(rng)
    plan = planned(cluster, observation)
    best = best_of(cluster, present(cluster, observation), observation.demand_qps)
    assert served(plan) == pytest.approx(best.served_qps, rel=NEAR)
    assert accuracy(plan) == pytest.approx(best.value, rel=NEAR)
    assert plan.report.status is Status.OPTIMAL


@settings(max_examples=40, derandomize=True)
@given(SEEDS)
def test_the_other_solver_finds_the_same(rng: np.random.Generator) -> None:
    cluster, observation = tiny(rng)
    one, other = (planned(cluster, observation, replace(EXACT, solver=name)) for name in ("highs", "scip"))
    assert served(one) == pytest.approx(served(other), rel=NEAR)
    assert accuracy(one) == pytest.approx(accuracy(other), rel=NEAR)


@settings(max_examples=40, derandomize=True)
@given(SEEDS, st.sampled_from((0.02, 0.2)))
def test_the_proven_gap_holds_for_the_best_placement(rng: np.random.Generator, gap: float) -> None:
    cluster, observation = tiny(rng)
    plan = planned(cluster, observation, replace(EXACT, gap=gap))
    best = best_of(cluster, present(cluster, observation), observation.demand_qps)
    assert plan.report.gap is not None
    assert best.value <= accuracy(plan) / (1 - plan.report.gap) * (1 + NEAR)
    assert served(plan) >= best.served_qps * (1 - gap - NEAR)


@settings(max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SEEDS, st.sampled_from((0.0, 0.05)))
def test_sieving_the_columns_first_loses_no_more_than_the_gap(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, gap: float
) -> None:
    monkeypatch.setattr(search, "MOST_COLUMNS", 80)
    cluster, observation = tiny(rng, most_workers=6)
    direct = planned(cluster, observation)
    monkeypatch.setattr(search, "MOST_COLUMNS", 2)
    sieved = planned(cluster, observation, replace(EXACT, gap=gap))
    assert sieved.report.status is Status.OPTIMAL
    assert served(direct) * (1 - gap - NEAR) <= served(sieved) <= served(direct) * (1 + NEAR)
    assert accuracy(sieved) / (1 - (sieved.report.gap or 0.0)) >= accuracy(direct) * (1 - NEAR)


@settings(max_examples=30, derandomize=True)
@given(SEEDS)
def test_a_fair_plan_has_the_best_of_all_worst_endpoints(rng: np.random.Generator) -> None:
    cluster, observation = tiny(rng)
    plan = planned(cluster, observation, replace(EXACT, fair=True))
    unfair = planned(cluster, observation)
    best = best_of(cluster, present(cluster, observation), observation.demand_qps, fair=True)
    assert served(plan) == pytest.approx(best.served_qps, rel=NEAR)
    assert accuracy(plan) == pytest.approx(best.value, rel=NEAR)
    if plan.demand_qps:
        assert each_accuracy(plan)[0] >= each_accuracy(unfair)[0] - NEAR
        servable = [worst for worst in each_accuracy(plan) if worst > 0]
        assert best.least == 0 or servable[0] >= best.least * (1 - NEAR)


def test_fairness_moves_workers_to_the_endpoint_that_is_worst_off() -> None:
    both = cluster(
        endpoint("a", even("a-fast", 0.5, 40.0), even("a-slow", 1.0, 10.0)),
        endpoint("b", even("b-fast", 0.7, 20.0), even("b-slow", 1.0, 10.0)),
    )
    observation = observed({"a": 20.0, "b": 20.0}, workers(cpu=3))
    unfair, fair = planned(both, observation), planned(both, observation, replace(EXACT, fair=True))
    assert unfair.accuracy == pytest.approx({"a": 1.0, "b": 0.7}, rel=1e-5)
    assert fair.accuracy == pytest.approx(unfair.accuracy, rel=1e-5)
    poorer = cluster(
        endpoint("a", even("a-fast", 0.5, 40.0), even("a-slow", 1.0, 10.0)),
        endpoint("b", even("b-fast", 0.45, 20.0), even("b-slow", 0.9, 10.0)),
    )
    unfair, fair = planned(poorer, observation), planned(poorer, observation, replace(EXACT, fair=True))
    assert unfair.accuracy == pytest.approx({"a": 1.0, "b": 0.45}, rel=1e-5)
    assert fair.accuracy == pytest.approx({"a": 0.5, "b": 0.9}, rel=1e-5)


def test_an_endpoint_that_nobody_can_serve_does_not_cost_the_others_their_fairness() -> None:
    poorer = cluster(
        endpoint("a", even("a-fast", 0.5, 40.0), even("a-slow", 1.0, 10.0)),
        endpoint("b", even("b-fast", 0.45, 20.0), even("b-slow", 0.9, 10.0)),
        endpoint("late", even("c", 1.0, 10.0), slo_s=0.1),
    )
    plan = planned(poorer, observed({"a": 20.0, "b": 20.0, "late": 5.0}, workers(cpu=3)), replace(EXACT, fair=True))
    assert plan.accuracy == pytest.approx({"a": 0.5, "b": 0.9}, rel=1e-5)


@settings(max_examples=30, derandomize=True)
@given(SEEDS)
def test_pinned_workers_change_their_variant_and_never_their_side(rng: np.random.Generator) -> None:
    cluster, observation = tiny(rng)
    names = [e.name for e in cluster.endpoints]
    pinned = {(p.device, name): int(rng.integers(0, 3)) for p in cluster.pools for name in names}
    plan = planned(cluster, observation, pinned=pinned)
    there = present(cluster, observation)
    servable = {
        e.name: observation.demand_qps[e.name]
        for e in cluster.endpoints
        if any(there[device] and pinned[device, e.name] and each for device, each in e.candidates.items())
    }
    best = best_of(cluster, there, servable, pinned=pinned)
    assert served(plan) == pytest.approx(best.served_qps, rel=NEAR)
    assert accuracy(plan) == pytest.approx(best.value, rel=NEAR)
    for (device, name), most in pinned.items():
        assert sum(observation.devices[worker] == device for worker in plan.shares.get(name, ())) <= most


@settings(max_examples=40, derandomize=True)
@given(SEEDS, st.sampled_from((1.2, 2.0)))
def test_every_endpoint_has_the_same_part_of_the_headroom_and_none_could_have_more(
    rng: np.random.Generator, headroom: float
) -> None:
    cluster, observation = tiny(rng)
    plan = planned(cluster, observation, replace(EXACT, headroom=headroom))
    if not plan.report.explanation[0].startswith("All"):
        return
    wanted = {name: qps * headroom for name, qps in plan.demand_qps.items()}
    parts = []
    for placement in placements(cluster, present(cluster, observation)):
        loads = Loads(placement, wanted)
        loads.accuracy = np.ones_like(loads.accuracy)
        parts.append(loads.fairest(0.0, wanted))
    for name, qps in wanted.items():
        assert plan.capacity_qps[name] == pytest.approx(qps * max(parts), rel=NEAR)
    roomy = best_of(cluster, present(cluster, observation), plan.capacity_qps)
    assert accuracy(plan) / served(plan) == pytest.approx(roomy.value / roomy.served_qps, rel=2 * NEAR)


@settings(max_examples=40, derandomize=True)
@given(SEEDS, st.sampled_from((0.005, 0.1)))
def test_room_beyond_the_headroom_costs_no_more_accuracy_than_is_tolerated(
    rng: np.random.Generator, tolerance: float
) -> None:
    cluster, observation = tiny(rng, most_workers=4)
    exact = planned(cluster, observation)
    roomy = planned(cluster, observation, replace(EXACT, tolerance=tolerance))
    assert served(roomy) == pytest.approx(served(exact), rel=NEAR)
    assert (roomy.effective_accuracy or 0.0) >= (exact.effective_accuracy or 0.0) - tolerance - NEAR
    for name, qps in exact.capacity_qps.items():
        assert roomy.capacity_qps[name] >= qps * (1 - NEAR)

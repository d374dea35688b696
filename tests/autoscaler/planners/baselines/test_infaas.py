"""Greedy steps of one endpoint at a time."""

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.planners.baselines.infaas import InfaasPlanner
from autoscaler_scene import SEEDS, cluster, endpoint, even, held, observed, some_cluster, some_observation, workers
from plan_checker import broken

BOTH = cluster(
    endpoint("a", even("a-fast", 0.5, 40.0), even("a-middle", 0.9, 12.0), even("a-slow", 1.0, 10.0)),
    endpoint("b", even("b-fast", 0.6, 20.0), even("b-slow", 0.9, 5.0)),
)


def planned(demand_qps: dict[str, float], there: dict[str, str], now: dict[str, frozenset[str]]) -> dict[str, set[str]]:
    plan = InfaasPlanner(BOTH, 1.0).plan(observed(demand_qps, there, now))
    assert broken(BOTH, observed(demand_qps, there, now), plan) == []
    return {worker: set(variants) for worker, variants in plan.held.items()}


def test_an_idle_worker_with_the_best_variant_is_the_cheapest_step() -> None:
    assert planned({"a": 15.0}, workers(cpu=2), {}) == {"cpu-0": {"a-slow"}, "cpu-1": {"a-slow"}}


def test_workers_that_nobody_needs_join_the_busiest_with_the_best_variant() -> None:
    assert planned({"a": 15.0}, workers(cpu=3), {})["cpu-2"] == {"a-slow"}
    now = held(cpu_0="a-slow", cpu_1="b-slow")
    assert planned({"a": 5.0, "b": 4.0}, workers(cpu=3), now)["cpu-2"] == {"b-slow"}
    assert planned({"a": 9.0, "b": 1.0}, workers(cpu=3), now)["cpu-2"] == {"a-slow"}


def test_the_step_that_loses_the_least_accuracy_per_query_gained_comes_first() -> None:
    # Both slow make 20. To middle: (0.1 x 12) / 2 = 0.6 lost per query/s gained; to fast: (0.5 x 40) / 30 = 0.67.
    now = held(cpu_0="a-slow", cpu_1="a-slow")
    assert planned({"a": 21.0}, workers(cpu=2), now) == {"cpu-0": {"a-middle"}, "cpu-1": {"a-slow"}}
    # 24 with both in the middle is not enough; from there to fast is (0.5 x 40 - 0.1 x 12) / 28 = 0.67.
    assert planned({"a": 25.0}, workers(cpu=2), now) == {"cpu-0": {"a-fast"}, "cpu-1": {"a-middle"}}


def test_no_worker_is_taken_from_another_endpoint() -> None:
    # b alone would need one of the two workers that a keeps for little.
    now = held(cpu_0="a-slow", cpu_1="a-slow")
    assert planned({"a": 12.0, "b": 15.0}, workers(cpu=2), now) == {"cpu-0": {"a-slow"}, "cpu-1": {"a-slow"}}


def test_all_demand_that_cannot_be_met_ends_with_the_fastest_variants() -> None:
    plan = InfaasPlanner(BOTH, 1.0).plan(observed({"a": 500.0}, workers(cpu=2)))
    assert plan.held == held(cpu_0="a-fast", cpu_1="a-fast")
    assert plan.served_qps == pytest.approx({"a": 80.0, "b": 0.0})
    assert plan.shares["a"] == pytest.approx({"cpu-0": 0.08, "cpu-1": 0.08})


def test_less_load_upgrades_first_and_then_gives_workers_to_who_takes_them() -> None:
    now = held(cpu_0="a-fast", cpu_1="a-slow")
    # 50 can be served. 15 x 1.2 leaves 32 spare: the fast worker becomes slow for 30 of them, and both are needed.
    assert planned({"a": 15.0}, workers(cpu=2), now) == {"cpu-0": {"a-slow"}, "cpu-1": {"a-slow"}}
    # 8 x 1.2 leaves 10.4 spare after that: one of 10 can go.
    assert planned({"a": 8.0}, workers(cpu=2), now) == {"cpu-0": {"a-slow"}, "cpu-1": {"a-slow"}}
    assert planned({"a": 8.0, "b": 4.0}, workers(cpu=2), now)["cpu-0"] == {"b-slow"}


def test_the_least_accurate_worker_is_given_back_first() -> None:
    # 22 can be served, 10 x 1.2 are wanted: the one in the middle goes, since its upgrade takes nothing from that.
    now = held(cpu_0="a-slow", cpu_1="a-middle", cpu_2="a-slow")
    assert planned({"a": 16.0}, workers(cpu=3), now) == {f"cpu-{number}": {"a-slow"} for number in range(3)}
    taken = planned({"a": 16.0, "b": 4.0}, workers(cpu=3), now)
    assert sorted(map(sorted, taken.values())) == [["a-slow"], ["a-slow"], ["b-slow"]]


def test_a_worker_is_not_given_back_only_to_be_taken_again() -> None:
    # 10 x 1.2 = 12 is more than one worker serves, so that the second stays.
    now = held(cpu_0="a-slow", cpu_1="a-slow")
    assert planned({"a": 10.0}, workers(cpu=2), now) == {"cpu-0": {"a-slow"}, "cpu-1": {"a-slow"}}


@settings(max_examples=80, derandomize=True)
@given(SEEDS)
def test_workers_change_sides_by_way_of_idleness_alone(rng: np.random.Generator) -> None:
    made = some_cluster(rng, sharing=False)
    there = some_observation(rng, made).devices
    planner, now = InfaasPlanner(made, 1.1), {}
    for _ in range(4):
        observation = observed(some_observation(rng, made).demand_qps, there, now)
        plan = planner.plan(observation)
        assert broken(made, observation, plan) == []
        for worker, variants in plan.held.items():
            (before,), (after,) = now.get(worker, variants), variants
            name = before[:2]  # variants are called after their endpoint
            if not after.startswith(name):
                assert plan.served_qps[name] == pytest.approx(observation.demand_qps[name])  # it could do without
        now = dict(plan.held)


def test_workers_of_no_pool_are_left_out() -> None:
    assert planned({"a": 5.0}, {"x": "tpu", **workers(cpu=1)}, {"x": frozenset({"a-slow"})}) == {"cpu-0": {"a-slow"}}


def test_a_demand_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="'a' is nan"):
        InfaasPlanner(BOTH, 1.0).plan(observed({"a": float("nan")}, workers(cpu=1)))

"""What changes between plans: by hand, and put together again from the parts."""

import json
from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.cluster.plan_difference import EndpointChange, EndpointFigures, PlanDifference, PoolChange, difference
from autoscaler_scene import SEEDS, held

BEFORE = ClusterPlan(
    held=held(w1="big", w2="big", w3="small"),
    shares={"e": {"w1": 0.25, "w2": 0.25, "w3": 0.5}, "f": {}},
    demand_qps={"e": 100.0, "f": 0.1},
    served_qps={"e": 100.0, "f": 0.1},
    capacity_qps={"e": 120.0, "f": 0.1},
    accuracy={"e": 0.975},
    pool_sizes={"cpu": 3, "gpu": 0},
    report=SolveReport(Status.OPTIMAL, 0.0, 0.1),
)
AFTER = replace(
    BEFORE,
    held=held(w1="small big", w3="tiny", w4="small"),
    shares={"e": {"w1": 0.5, "w4": 0.25}, "f": {}},
    demand_qps={"e": 200.0, "f": 0.1},
    served_qps={"e": 150.0, "f": 0.1},
    capacity_qps={"e": 150.0, "f": 0.1},
    accuracy={"e": 0.95},
    pool_sizes={"cpu": 3, "gpu": 1},
)


def test_a_plan_does_not_differ_from_itself_however_it_was_solved() -> None:
    other = replace(BEFORE, report=SolveReport(Status.FEASIBLE, 0.1, 9.0, ("words",)))
    changed = difference(BEFORE, other)
    assert changed == PlanDifference({}, {}, {}, {}, {})
    assert changed.lines() == ()


def test_figures_are_of_both_plans_and_shares_of_what_the_workers_hold() -> None:
    assert difference(BEFORE, AFTER).endpoints == {
        "e": EndpointChange(
            EndpointFigures(100.0, 100.0, 120.0, 0.975, 0.0, {"big": 0.5, "small": 0.5}),
            EndpointFigures(200.0, 150.0, 150.0, 0.95, 0.25, {"big+small": 0.5, "small": 0.25}),
        )
    }


def test_of_a_plan_for_no_load_nobody_knows_what_is_served() -> None:
    for_none = replace(BEFORE, served_qps={}, capacity_qps={}, accuracy={})
    changed = difference(BEFORE, for_none)
    assert changed.endpoints["e"].after == EndpointFigures(100.0, None, None, None, None, {"big": 0.5, "small": 0.5})
    assert changed.lines()[0] == (
        "e: served unknown instead of 100 queries/s, capacity unknown instead of 120 queries/s, "
        "shed unknown instead of 0.0%, expected accuracy unknown instead of 97.50%."
    )
    assert difference(for_none, for_none).lines() == ()


def test_every_change_has_a_sentence() -> None:
    assert difference(BEFORE, AFTER).lines() == (
        "Workers of gpu: 1 instead of 0.",
        "e: demand 200 queries/s instead of 100 queries/s, served 150 queries/s instead of 100 queries/s, "
        "capacity 150 queries/s instead of 120 queries/s, shed 25.0% instead of 0.0%, "
        "expected accuracy 95.00% instead of 97.50%.",
        "Of the queries of e: big 0.0% instead of 50.0%, big+small 50.0% instead of 0.0%, "
        "small 25.0% instead of 50.0%.",
        "w1 gains small.",
        "w3 gains tiny and loses small.",
        "w4 comes in with small.",
        "w2 drops out; it held big.",
    )


def test_changes_too_small_to_read_have_no_sentence() -> None:
    near = replace(BEFORE, demand_qps={"e": 100.001, "f": 0.1})
    changed = difference(BEFORE, near)
    assert list(changed.endpoints) == ["e"]
    assert changed.lines() == ()


def test_an_endpoint_and_a_pool_that_one_plan_does_not_know_count_as_nothing() -> None:
    bare = ClusterPlan(report=SolveReport(Status.HEURISTIC, None, 0.0))
    changed = difference(bare, BEFORE)
    assert changed.endpoints["e"].before == EndpointFigures(0.0, 0.0, 0.0, None, 0.0, {})
    assert changed.pools == {"cpu": PoolChange(0, 3)}
    assert "expected accuracy 97.50% instead of unknown" in changed.lines()[1]


def test_a_record_is_json_with_everything_in_it() -> None:
    record = json.loads(json.dumps(difference(BEFORE, AFTER).to_record()))
    assert record["workers"]["w3"] == {"gained": ["tiny"], "lost": ["small"]}
    assert (record["came"], record["gone"]) == ({"w4": ["small"]}, {"w2": ["big"]})
    assert record["pools"] == {"gpu": {"before": 0, "after": 1}}
    assert record["endpoints"]["e"]["after"]["shares"] == {"big+small": 0.5, "small": 0.25}


def some_plan(rng: np.random.Generator) -> ClusterPlan:
    workers = [f"w{number}" for number in range(5) if rng.random() < 0.7]
    holds = {
        w: frozenset(rng.choice(("a", "b", "c"), int(rng.integers(1, 4)), replace=False).tolist()) for w in workers
    }
    shares = {"e": {worker: float(rng.integers(0, 3)) / 10 for worker in workers}}
    load = {"e": float(rng.integers(0, 3))}
    return replace(
        BEFORE, held=holds, shares=shares, demand_qps=load, served_qps=load, pool_sizes={"cpu": len(workers)}
    )


@settings(max_examples=150, derandomize=True)
@given(SEEDS)
def test_the_plan_before_with_the_changes_is_the_plan_after(rng: np.random.Generator) -> None:
    before, after = some_plan(rng), some_plan(rng)
    changed = difference(before, after)
    holds = {worker: set(variants) for worker, variants in before.held.items()}
    for worker, own in changed.workers.items():
        assert holds[worker] >= set(own.lost)
        holds[worker] = holds[worker] - set(own.lost) | set(own.gained)
    for worker, variants in changed.gone.items():
        assert holds.pop(worker) == set(variants)
    assert not holds.keys() & changed.came.keys()
    holds |= {worker: set(variants) for worker, variants in changed.came.items()}
    assert holds == after.held
    sizes = dict(before.pool_sizes) | {name: pool.after for name, pool in changed.pools.items()}
    assert sizes == after.pool_sizes
    assert bool(changed.lines()) >= (before.held != after.held)

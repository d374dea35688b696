"""Plans for workers that cannot load all that they are to hold."""

from dataclasses import replace

import pytest

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.transition.lacking import without
from autoscaler_scene import held

POOLS = {"w1": "cpu", "w2": "cpu", "g1": "gpu"}
BOTH = ClusterPlan(held=held(w1="a b", w2="a b", g1="a b"), report=SolveReport(Status.HEURISTIC, None, 0.0))
LOADED = held(w1="a", w2="a b", g1="a b")


def test_what_another_worker_of_the_pool_holds_is_left_out_on_the_one_that_cannot() -> None:
    assert without(BOTH, [("w1", "b")], LOADED, POOLS) == replace(BOTH, held=held(w1="a", w2="a b", g1="a b"))


@pytest.mark.parametrize(
    ("plan", "loaded", "worker", "why"),
    [
        (BOTH, held(w1="a", w2="a", g1="a b"), "w1", "only a worker of another pool holds it"),
        (BOTH, LOADED, "g1", "it is the only worker of its pool"),
        (replace(BOTH, own_balancing=frozenset({"e"})), LOADED, "w1", "such plans count workers"),
        (replace(BOTH, held=held(w1="a b", w2="a")), LOADED, "w1", "the other is to let go of it"),
        (replace(BOTH, shares={"e": {"w1": 0.5, "w2": 0.5}}), LOADED, "w1", "queries are sent to it"),
    ],
)
def test_else_the_plan_stays_as_it_is(
    plan: ClusterPlan, loaded: dict[str, frozenset[str]], worker: str, why: str
) -> None:
    assert without(plan, [(worker, "b")], loaded, POOLS) == plan, why


def test_shares_of_others_and_of_nothing_do_not_matter() -> None:
    plan = replace(BOTH, shares={"e": {"w1": 0.0, "w2": 1.0}})
    assert without(plan, [("w1", "b")], LOADED, POOLS).held["w1"] == {"a"}


def test_a_worker_that_can_load_nothing_has_no_place() -> None:
    plan = replace(BOTH, fallback={"w1": ("c",), "w2": ("c",)})
    made = without(plan, [("w1", "a"), ("w1", "b")], held(w1="", w2="a b"), POOLS)
    assert made.held == held(w2="a b", g1="a b")
    assert made.fallback == {"w2": ("c",)}


def test_workers_that_were_to_hold_nothing_stay_in_the_plan() -> None:
    plan = replace(BOTH, held=held(w1="", w2="a b"))
    assert without(plan, [], LOADED, POOLS) == plan


def test_fallback_that_cannot_be_loaded_is_left_out_and_counts_where_another_holds_it() -> None:
    plan = replace(BOTH, held=held(w1="a b", w2="a"), fallback={"w1": ("c",), "w2": ("b", "c")})
    made = without(plan, [("w1", "b"), ("w1", "c")], LOADED, POOLS)
    assert made.held == held(w1="a", w2="a")
    assert made.fallback == {"w2": ("b", "c")}


def test_workers_that_went_meanwhile_are_left_alone() -> None:
    assert without(BOTH, [("w9", "b")], LOADED, POOLS) == BOTH
    assert without(BOTH, [("w1", "b")], held(w2="a b"), {"w2": "cpu"}) == BOTH

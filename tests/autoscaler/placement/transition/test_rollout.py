"""Plans made true: by hand, and at random against every set of variants that a worker could give up."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.transition.rollout import Rollout
from autoscaler_scene import SEEDS, held

VARIANTS = ("a", "b", "c", "d", "e")


def plan(**wanted: str) -> ClusterPlan:
    return ClusterPlan(held=held(**wanted), report=SolveReport(Status.OPTIMAL, 0.0, 0.0))


def test_new_variants_are_loaded_beside_the_old_and_the_old_unloaded_after() -> None:
    rollout = Rollout(plan(w1="b c", w2="a"), held(w1="a b", w2="a", w3="c"), {}, {})
    assert rollout.load_first == {"w1": ("c",)}
    assert rollout.break_first == {}
    assert not rollout.ready
    rollout.on_loaded("w1", frozenset("abc"), {})
    assert rollout.ready
    assert rollout.serves == held(w1="b c", w2="a")
    assert rollout.unload == {"w1": ("a",), "w3": ("c",)}


def test_a_plan_that_loads_nothing_is_ready_at_once() -> None:
    rollout = Rollout(plan(w1="a"), held(w1="a b"), {}, {})
    assert (rollout.load_first, rollout.ready, rollout.hopeless) == ({}, True, False)
    assert rollout.unload == {"w1": ("b",)}


def test_what_only_a_dead_worker_was_to_hold_is_served_on_by_those_that_hold_it() -> None:
    rollout = Rollout(plan(w1="a", w2="b"), held(w1="a b", w3="b"), {}, {})
    assert rollout.serves == held(w1="a b", w3="b")
    assert rollout.unload == {}


def test_a_worker_that_dies_on_the_way_leaves_its_variants_to_others_too() -> None:
    rollout = Rollout(plan(w1="a", w2="b c"), held(w1="a b", w2="b"), {}, {})
    assert rollout.unload == {"w1": ("b",)}
    rollout.on_lost("w2")
    assert rollout.serves == held(w1="a b")
    assert rollout.unload == {}


def test_all_workers_that_load_must_be_done_before_the_switch() -> None:
    rollout = Rollout(plan(w1="a", w2="b"), held(w1="", w2=""), {}, {})
    rollout.on_loaded("w2", frozenset("b"), {})
    assert (rollout.ready, rollout.hopeless) == (False, False)
    rollout.on_loaded("w1", frozenset("a"), {})
    assert rollout.ready


def test_some_workers_may_be_ready_before_all_are() -> None:
    rollout = Rollout(plan(w1="a", w2="b"), held(w1="", w2="b", w3="c"), {}, {})
    assert (rollout.is_ready(["w2"]), rollout.is_ready(["w3"]), rollout.is_ready(["w1", "w2"])) == (True, True, False)
    rollout.on_lost("w1")
    assert rollout.is_ready(["w1", "w2"])


def test_variants_that_cannot_be_loaded_make_it_hopeless_once_everybody_has_answered() -> None:
    rollout = Rollout(plan(w1="a", w2="b c"), held(w1="", w2=""), {}, {})
    rollout.on_loaded("w2", frozenset("b"), {"c": "file is gone"})
    assert rollout.failed == {("w2", "c"): "file is gone"}
    assert not rollout.hopeless, "w1 is still loading"
    rollout.on_loaded("w1", frozenset("a"), {})
    assert (rollout.ready, rollout.hopeless) == (False, True)
    rollout.on_lost("w2")
    assert (rollout.ready, rollout.hopeless) == (True, False), "what only w2 was to hold is not waited for"
    assert rollout.failed == {}


def test_a_variant_that_a_worker_lost_while_others_load_keeps_the_plan_from_being_ready() -> None:
    rollout = Rollout(plan(w1="a", w2="b"), held(w1="a", w2=""), {}, {})
    rollout.on_loaded("w1", frozenset(), {})
    rollout.on_loaded("w2", frozenset("b"), {})
    assert rollout.hopeless


def test_workers_to_come_are_left_out() -> None:
    made = plan(**{"cpu+1": "a", "w1": "a"})
    rollout = Rollout(made, held(w1=""), {"a": 1}, {"w1": 5.0, "cpu+1": 5.0})
    assert rollout.load_first == {"w1": ("a",)}
    rollout.on_loaded("cpu+1", frozenset("a"), {})
    rollout.on_loaded("w1", frozenset("a"), {})
    assert rollout.ready
    assert rollout.serves == held(w1="a")
    assert rollout.unload == {}


def test_a_lost_worker_is_waited_for_no_more_and_named_nowhere() -> None:
    rollout = Rollout(plan(w1="b", w2="b"), held(w1="a", w2="b", w3="a"), {"a": 1, "b": 1}, {"w1": 1.0})
    assert rollout.break_first == held(w1="a")
    for worker in ("w1", "w3"):
        rollout.on_lost(worker)
    assert rollout.ready
    assert (rollout.load_first, rollout.break_first, rollout.unload) == ({}, {}, {})
    assert rollout.serves == held(w2="b")
    rollout.on_loaded("w1", frozenset("ab"), {"b": "too late"})
    assert (rollout.serves, rollout.failed, rollout.unload) == (held(w2="b"), {}, {})


def test_without_memory_for_old_and_new_the_largest_old_one_goes_first() -> None:
    sizes = {"a": 1, "b": 5, "c": 3, "new": 4}
    rollout = Rollout(plan(w1="new", w2="new"), held(w1="a b c", w2="a b c"), sizes, {"w1": 9.0, "w2": 13.0})
    assert rollout.break_first == held(w1="b")
    assert rollout.load_first == {"w1": ("new",), "w2": ("new",)}


def test_who_loads_nothing_gives_nothing_up() -> None:
    rollout = Rollout(plan(w1="a"), held(w1="a b"), {"a": 3, "b": 3}, {"w1": 4.0})
    assert rollout.break_first == {}


def test_variants_without_a_size_are_not_given_up_for_memory() -> None:
    rollout = Rollout(plan(w1="new"), held(w1="a b"), {"a": 2, "new": 4}, {"w1": 3.0})
    assert rollout.break_first == held(w1="a")


def some_set(rng: np.random.Generator) -> frozenset[str]:
    return frozenset(rng.choice(VARIANTS, int(rng.integers(0, 4)), replace=False).tolist())


@settings(max_examples=200, derandomize=True)
@given(SEEDS)
def test_memory_is_kept_by_giving_up_as_few_unwanted_variants_as_possible(rng: np.random.Generator) -> None:
    sizes = {variant: int(rng.integers(1, 9)) for variant in VARIANTS}
    before, after = some_set(rng), some_set(rng)
    limit_bytes = float(rng.integers(0, 25))
    made = ClusterPlan(held={"w": after}, report=SolveReport(Status.OPTIMAL, 0.0, 0.0))
    rollout = Rollout(made, {"w": before}, sizes, {"w": limit_bytes})

    def fits(kept: frozenset[str]) -> bool:
        return sum(sizes[variant] for variant in kept | after) <= limit_bytes

    given_up = rollout.break_first.get("w", frozenset())
    assert given_up <= before - after
    if after <= before:
        assert given_up == frozenset()
        return
    numbers = range(len(before - after) + 1)
    enough = (n for n in numbers if any(fits(before - frozenset(some)) for some in combinations(before - after, n)))
    least = next(enough, None)
    if least is None:  # the new ones alone are too much: nothing that could help is kept
        assert given_up == before - after
    else:
        assert fits(before - given_up)
        assert len(given_up) == least


@settings(max_examples=200, derandomize=True)
@given(SEEDS)
def test_after_all_is_loaded_and_unloaded_every_worker_holds_exactly_the_plan(rng: np.random.Generator) -> None:
    workers = [f"w{number}" for number in range(4)]
    holds = {worker: some_set(rng) for worker in workers}
    wanted = {worker: some_set(rng) for worker in (*workers[1:], "cpu+1")}
    limit_bytes = {worker: float(rng.integers(1, 6)) for worker in workers}
    made = ClusterPlan(held=wanted, report=SolveReport(Status.OPTIMAL, 0.0, 0.0))
    rollout = Rollout(made, holds, dict.fromkeys(VARIANTS, 1), limit_bytes)
    for worker, variants in rollout.load_first.items():
        assert not rollout.ready
        assert not rollout.hopeless
        holds[worker] = holds[worker] - rollout.break_first.get(worker, frozenset()) | set(variants)
        rollout.on_loaded(worker, holds[worker], {})
    assert rollout.ready
    for worker, old in rollout.unload.items():
        holds[worker] -= set(old)
    assert holds == {worker: wanted.get(worker, frozenset()) for worker in workers}

"""Placements of several variants against all there are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.placement import joint as module
from autoscaler.placement.baselines import least_loaded, oracle
from autoscaler.placement.interference import NoInterference
from autoscaler.placement.joint import joint, one_by_one, placement_cost
from autoscaler.placement.machine import LatencySum, Machine
from interference_scene import PairLaw, PressureLaw, every_placement

SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def some_problem(rng: np.random.Generator) -> tuple[list[str], list[Machine], LatencySum]:
    names = [f"v{number}" for number in range(6)]
    law = PressureLaw(
        {v: float(rng.uniform(0, 2)) for v in names},
        {v: float(rng.uniform(0, 2)) for v in names},
        {"gpu": float(rng.uniform(0, 1))},
    )
    alone_s = {(t, v): float(rng.uniform(0.01, 0.1)) for t in ("cpu", "gpu") for v in names}
    machines = [Machine(f"m{n}", str(rng.choice(["cpu", "gpu"])), int(rng.integers(2, 5))) for n in range(3)]
    variants = [str(rng.choice(names)) for _ in range(int(rng.integers(1, 6)))]
    return variants, machines, LatencySum(alone_s, law, added_only=bool(rng.random() < 0.3))


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_no_placement_costs_less(rng: np.random.Generator) -> None:
    variants, machines, cost = some_problem(rng)
    least = min(placement_cost(variants, machines, each, cost) for each in every_placement(variants, machines))
    found = joint(variants, machines, cost)
    assert found in set(every_placement(variants, machines))
    assert placement_cost(variants, machines, found, cost) == pytest.approx(least)


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_the_local_search_is_never_worse_than_one_by_one_and_no_single_change_improves_it(
    rng: np.random.Generator,
) -> None:
    variants, machines, cost = some_problem(rng)
    machines = [machine._replace(room=4) for machine in machines]
    found = module._improved(variants, machines, cost)
    reached = placement_cost(variants, machines, found, cost)
    assert found == module._improved(variants, machines, cost)
    for other in every_placement(variants, machines):
        changed = [n for n, (a, b) in enumerate(zip(found, other, strict=True)) if a != b]
        exchanged = len(changed) == 2 and {found[n] for n in changed} == {other[n] for n in changed}
        if len(changed) == 1 or exchanged:
            assert placement_cost(variants, machines, other, cost) >= reached * (1 - 1e-6)
    order = sorted(variants, key=lambda v: -max(s for (_, name), s in cost.alone_s.items() if name == v))
    greedy = one_by_one(order, machines, cost)
    assert reached <= placement_cost(order, machines, greedy, cost) * (1 + 1e-9)


def test_one_by_one_is_short_sighted_and_joint_is_not() -> None:
    # a and b get on with each other and neither with c: b goes to the empty machine, and c beside one of them
    law = PairLaw({(x, y): 0.01 if "c" not in (x, y) else 5.0 for x in "abc" for y in "abc"})
    cost = LatencySum({("cpu", variant): 0.01 for variant in "abc"}, law)
    machines = [Machine("m0", "cpu", 3), Machine("m1", "cpu", 3)]
    assert one_by_one("abc", machines, cost) == ("m0", "m1", "m0")
    assert joint("abc", machines, cost) == ("m0", "m0", "m1")


def test_the_least_loaded_machine_is_chosen_whoever_is_there() -> None:
    machines = [Machine("m0", "cpu", 2), Machine("m1", "gpu", 2)]
    load = {"a": 0.6, "b": 0.1, "c": 0.1}
    assert least_loaded("abc", machines, load) == ("m0", "m1", "m1")
    assert least_loaded("aaaa", machines, {}) == ("m0", "m1", "m0", "m1")
    assert least_loaded("abbb", machines, load) == ("m0", "m1", "m1", "m0"), "m1 is full"


@settings(max_examples=30, derandomize=True)
@given(SEEDS)
def test_nobody_is_better_than_the_oracle(rng: np.random.Generator) -> None:
    variants, machines, truth = some_problem(rng)
    best = placement_cost(variants, machines, oracle(variants, machines, truth), truth)
    blind = joint(variants, machines, LatencySum(truth.alone_s, NoInterference()))
    loaded = least_loaded(variants, machines, {})
    for other in (blind, loaded, one_by_one(variants, machines, truth)):
        assert best <= placement_cost(variants, machines, other, truth) * (1 + 1e-9)


@pytest.mark.parametrize("place", [joint, oracle, one_by_one])
def test_more_than_there_is_room_for_is_refused(place: object) -> None:
    cost = LatencySum({("cpu", "a"): 0.01}, NoInterference())
    with pytest.raises(ValueError, match=r"no placement of a, a, a on 2 machines|no machine takes 'a'"):
        place("aaa", [Machine("m0", "cpu", 1), Machine("m1", "cpu", 1)], cost)  # type: ignore[operator]
    with pytest.raises(ValueError, match="no room for 'a' on 1 machines"):
        least_loaded("aa", [Machine("m0", "cpu", 1)], {})


def test_nothing_to_place_is_placed() -> None:
    assert joint((), [Machine("m0", "cpu", 1)], LatencySum({}, NoInterference())) == ()

"""Slowdowns on nodes by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.placement.nodes import Node, NodeSlowdowns, Occupant, Occupied, shared_nodes
from dispatch.worker_info import WorkerInfo
from interference_scene import PairLaw, PressureLaw
from predictor.configuration import Configuration

LAW = PairLaw({("a", "b"): 1.0, ("b", "a"): 0.5, ("a", "c"): 0.2, ("c", "a"): 0.1, ("a", "a"): 0.4})


def runs(*sets: str) -> tuple[Occupant, ...]:
    return tuple(Occupant(frozenset(each), frozenset(each)) for each in sets)


def test_only_nodes_with_several_workers_are_shared_and_unknown_ones_are_not() -> None:
    workers = {
        "w3": WorkerInfo("cpu", node="n1", machine="c4"),
        "w1": WorkerInfo("cpu", node="n1", machine="c4"),
        "g1": WorkerInfo("gpu", node="n1", machine="v100"),
        "w2": WorkerInfo("cpu", node="n2", machine="c4"),
        "w4": WorkerInfo("cpu"),
        "w5": WorkerInfo("cpu"),
    }
    assert shared_nodes(workers) == (Node("n1", "c4", ("w1", "w3")),)


def test_a_variant_is_slowed_down_by_what_all_its_neighbours_run() -> None:
    ((a, b, c),) = NodeSlowdowns(LAW).of([Occupied("m", runs("a", "b", "c"))])
    assert (a, b, c) == (pytest.approx({"a": 2.2}), pytest.approx({"b": 1.5}), pytest.approx({"c": 1.1}))


def test_of_a_neighbour_with_several_variants_the_worst_for_each_counts() -> None:
    ((own, both),) = NodeSlowdowns(LAW).of([Occupied("m", runs("a", "bc"))])
    assert own == pytest.approx({"a": 2.0})
    assert both == pytest.approx({"b": 1.5, "c": 1.1}), "the two of one worker run by turns"


def test_what_is_held_and_does_not_run_harms_nobody_and_has_the_slowdown_it_would_have() -> None:
    held = Occupant(frozenset("a"), frozenset())
    ((idle, b),) = NodeSlowdowns(LAW).of([Occupied("m", (held, *runs("b")))])
    assert (idle, b) == (pytest.approx({"a": 2.0}), {"b": 1.0})


@settings(max_examples=50, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_no_choice_of_the_neighbours_variants_is_worse_where_harm_adds_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"v{number}" for number in range(5)]
    law = PressureLaw({v: float(rng.uniform(0, 2)) for v in names})
    sets = [frozenset(rng.choice(names, size=rng.integers(1, 4), replace=False).tolist()) for _ in range(3)]
    (found,) = NodeSlowdowns(law).of([Occupied("m", tuple(Occupant(each, each) for each in sets))])
    for position, own in enumerate(sets):
        first, second = (each for number, each in enumerate(sets) if number != position)
        for variant in own:
            (worst,) = [max(law.slowdowns([Configuration("m", (variant, x, y))])[0][0] for x in first for y in second)]
            assert found[position][variant] == pytest.approx(worst)

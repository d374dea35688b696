"""Which loads get tables, in which order, and what is said of how many are to come."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import beyond_table, fluid_capacity_qps
from dispatch.selection.ramsis.tables.ladder import MAX_TABLES, LadderMaker
from dispatch.selection.ramsis.tables.table import DecisionTable

CANDIDATES = (
    Candidate("fast", 0.7, (0.0, *(0.002 + 0.0005 * rows for rows in range(1, 33)))),
    Candidate("slow", 0.9, (0.0, *(0.010 + 0.004 * rows for rows in range(1, 33)))),
)
PROBLEM = WorkerProblem.of(CANDIDATES, 0.1, 2, Poisson(1.0))
FLUID_QPS = fluid_capacity_qps(PROBLEM)

Accuracy = Callable[[float], float]


def table(load_qps: float, accuracy: float, late: float = 0.0) -> DecisionTable:
    made = beyond_table(PROBLEM, 1)
    return replace(made, load_qps=load_qps, expected_accuracy=accuracy, expected_violation_rate=late)


def steep(load_qps: float) -> float:
    return 0.9 - 0.8 * (load_qps / FLUID_QPS) ** 4


def climb(ladder: LadderMaker, accuracy: Accuracy, late: Accuracy = lambda load_qps: 0.0) -> list[float]:
    """Make every table, one at a time; the loads in the order in which they were asked for."""
    asked = []
    while loads_qps := ladder.next_loads(1):
        asked += loads_qps
        ladder.add(table(loads_qps[0], accuracy(loads_qps[0]), late(loads_qps[0])))
    assert ladder.remaining == 0
    return asked


def test_the_ladder_reaches_from_light_load_to_the_highest_in_factors_of_two() -> None:
    loads_qps = sorted(climb(LadderMaker(PROBLEM), lambda load_qps: 0.9))
    light_qps = 0.1 / PROBLEM.slo_s * PROBLEM.workers
    assert loads_qps[0] <= light_qps < loads_qps[1]
    assert loads_qps[-1] == FLUID_QPS
    assert all(high <= 2 * low for low, high in pairwise(loads_qps))
    assert 10 <= len(loads_qps) <= 20


@pytest.mark.parametrize(("highest_qps", "end_qps"), [(500.0, 500.0), (FLUID_QPS, FLUID_QPS), (1e9, FLUID_QPS)])
def test_it_ends_where_router_and_path_end_or_the_workers(highest_qps: float, end_qps: float) -> None:
    loads_qps = sorted(climb(LadderMaker(PROBLEM, highest_qps), steep))
    assert end_qps <= loads_qps[-1] <= min(1.05 * end_qps, FLUID_QPS)


def test_neighbours_are_near_where_accuracy_changes_and_nearest_where_it_falls_steeply() -> None:
    loads_qps = sorted(climb(LadderMaker(PROBLEM), steep))
    for low, high in pairwise(loads_qps):
        step = steep(low) - steep(high)
        assert step < 0.01 or high <= 1.25 * low
        assert step < 0.05 or high <= 1.05 * low
    assert len(loads_qps) <= MAX_TABLES


@pytest.mark.parametrize("late_share", [0.0, 0.05])
def test_overloads_are_not_told_apart_whatever_share_of_batches_is_late(late_share: float) -> None:
    problem = replace(PROBLEM, late_share=late_share)
    overloaded = sorted(climb(LadderMaker(problem), steep, lambda load_qps: late_share + 0.2))
    assert all(high >= 1.9 * low for low, high in pairwise(overloaded[:-1]))
    borne = climb(LadderMaker(problem), steep, lambda load_qps: late_share)
    assert len(borne) > len(overloaded)


@pytest.mark.parametrize("first_qps", [0.0, 3.0, 77.0, 600.0, FLUID_QPS, 1e9])
def test_the_first_table_is_for_the_load_that_there_is_and_the_others_come_outwards(first_qps: float) -> None:
    asked = climb(LadderMaker(PROBLEM, first_qps=first_qps), lambda load_qps: 0.9)
    light_qps = 0.1 / PROBLEM.slo_s * PROBLEM.workers
    assert min(first_qps, FLUID_QPS) <= asked[0] <= max(1.2 * first_qps, 2 * light_qps)
    up = [load_qps for load_qps in asked if load_qps >= asked[0]]
    down = [load_qps for load_qps in asked if load_qps <= asked[0]]
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)


@pytest.mark.parametrize("first_qps", [None, 50.0, 900.0])
@pytest.mark.parametrize("accuracy", [steep, lambda load_qps: 0.9, lambda load_qps: 0.5 + load_qps % 7 / 20])
def test_what_is_to_come_is_never_less_than_what_comes(first_qps: float | None, accuracy: Accuracy) -> None:
    ladder = LadderMaker(PROBLEM, first_qps=first_qps)
    estimates = [ladder.remaining]
    while loads_qps := ladder.next_loads(1):
        assert ladder.remaining > 0
        ladder.add(table(loads_qps[0], accuracy(loads_qps[0])))
        estimates.append(ladder.made + ladder.remaining)
    assert ladder.remaining == 0
    assert estimates == sorted(estimates, reverse=True)
    assert estimates[-1] == ladder.made <= estimates[0] <= MAX_TABLES


def test_several_can_be_under_way_and_come_back_in_any_order() -> None:
    rng = random.Random(1)
    alone = sorted(climb(LadderMaker(PROBLEM), steep))
    ladder = LadderMaker(PROBLEM)
    under_way: list[float] = []
    while ladder.remaining:
        under_way += ladder.next_loads(3 - len(under_way))
        load_qps = under_way.pop(rng.randrange(len(under_way)))
        ladder.add(table(load_qps, steep(load_qps)))
    grid = ladder.grid()
    assert grid is not None
    assert list(grid.loads_qps) == alone


def test_what_is_there_can_be_used_before_the_rest() -> None:
    ladder = LadderMaker(PROBLEM, first_qps=100.0)
    assert ladder.grid() is None
    (load_qps,) = ladder.next_loads(1)
    ladder.add(table(load_qps, 0.9))
    grid = ladder.grid()
    assert grid is not None
    assert grid.loads_qps == (load_qps,)
    assert grid.at(100.0).expected_accuracy == 0.9


def test_tables_that_were_not_asked_for_are_refused() -> None:
    ladder = LadderMaker(PROBLEM)
    with pytest.raises(ValueError, match="was not asked for"):
        ladder.add(table(123.0, 0.9))
    (load_qps,) = ladder.next_loads(1)
    ladder.add(table(load_qps, 0.9))
    with pytest.raises(ValueError, match="was not asked for"):
        ladder.add(table(load_qps, 0.9))


@pytest.mark.parametrize("highest_qps", [0.0, -1.0, float("nan")])
def test_a_ladder_must_end_above_zero(highest_qps: float) -> None:
    with pytest.raises(ValueError, match="give a positive load"):
        LadderMaker(PROBLEM, highest_qps)

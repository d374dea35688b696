"""Which table is in force at which load."""

from dataclasses import replace

import pytest

from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table, fluid_capacity_qps

FAST = Candidate("fast", 0.7, (0.0, *(0.010 + 0.001 * rows for rows in range(1, 33))))
SLOW = Candidate("slow", 0.9, (0.0, *(0.020 * rows for rows in range(1, 9))))


def problem(workers: int = 2, slo_s: float = 0.1) -> WorkerProblem:
    return WorkerProblem.of((FAST, SLOW), slo_s, workers, Poisson(50.0))


def grid(*loads_qps: float) -> TableGrid:
    """A grid whose tables all decide alike; only their loads matter here."""
    beyond = beyond_table(problem(), 1)
    return TableGrid(tuple(replace(beyond, load_qps=load_qps) for load_qps in loads_qps), beyond)


def test_the_lowest_load_table_that_meets_the_load_is_in_force() -> None:
    tables = grid(10.0, 20.0, 40.0)
    assert [tables.at(load).load_qps for load in (0.0, 10.0, 10.1, 20.0, 39.0, 40.0)] == [10, 10, 20, 20, 40, 40]


def test_beyond_the_grid_the_whole_queue_goes_to_the_variant_that_is_fastest_for_it() -> None:
    table = grid(10.0).at(11.0)
    assert (table.expected_accuracy, table.expected_violation_rate) == (0.0, 1.0)
    for rows in (1, 8, 32):
        index, batch = table.lookup(rows, -5.0, 0.75)
        assert (table.variants[index], batch) == ("fast", rows)
    assert table.lookup(500, 1.0) == (0, 152)  # the longest queue that tables tell apart


def test_the_fluid_capacity_is_that_of_the_largest_batch_in_time_on_the_fastest_variant() -> None:
    assert fluid_capacity_qps(problem()) == pytest.approx(2 * 32 / 0.042)
    assert fluid_capacity_qps(problem(workers=6)) == pytest.approx(6 * 32 / 0.042)
    assert fluid_capacity_qps(problem(slo_s=0.02)) == pytest.approx(2 * 10 / 0.020)


def test_where_no_batch_is_ever_in_time_the_capacity_is_that_of_single_queries() -> None:
    assert fluid_capacity_qps(problem(slo_s=0.005)) == pytest.approx(2 / 0.011)

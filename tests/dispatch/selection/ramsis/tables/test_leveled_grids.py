"""Which table is read for which latency and load, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.estimator import LatencyEstimator
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.leveled_grids import EXACT, LeveledGrids
from dispatch.selection.ramsis.tables.table import DecisionTable

RUNS = Candidate("v", 0.9, (0.0, 0.010, 0.020), mean_s=(0.0, 0.010, 0.020))
PROBLEM = WorkerProblem.of((RUNS,), 0.1, 2, Poisson(1.0))
LEVEL = LatencyLevel(run_factor=1.0, run_tail=1.2, path_s=0.010, path_tail=1.5)
SLOWER = LEVEL.inflated(1.5, 1.5)


def table(load_qps: float) -> DecisionTable:
    decisions = np.zeros((8, 1, 1), dtype=np.uint8)
    return DecisionTable.of(PROBLEM.at_load(load_qps), np.zeros(1), decisions, None, 0.9, 0.0)


def grid(*loads_qps: float) -> TableGrid:
    return TableGrid(tuple(map(table, loads_qps)), beyond_table(PROBLEM, 1))


def estimate(run_factor: float = 1.0, path_s: float = 0.010, tail: float = 1.0) -> LatencyEstimate:
    """As `LEVEL` at first; tails are so many times as far out."""
    spread = 0.2 * tail
    return LatencyEstimate(
        run_factor=run_factor,
        run_tail=1.0 + spread,
        path_s=path_s,
        path_tail_s=path_s * (1.0 + 0.5 * tail),
        typical_run_s=0.010,
    )


def test_a_worker_of_just_that_latency_is_read_as_it_is() -> None:
    reading = LeveledGrids({LEVEL: grid(100.0, 110.0, 120.0)}).read(estimate(), 2, 105.0)
    assert reading is not None
    assert reading.table.load_qps == 110.0
    assert (reading.mean, reading.tail) == pytest.approx((1.0, 1.0))
    assert reading.exact


def test_time_is_rescaled_for_a_slower_worker() -> None:
    grids = LeveledGrids({LEVEL: grid(100.0, 120.0, 150.0)})
    reading = grids.read(estimate(run_factor=1.1, path_s=0.011), 2, 105.0)
    assert reading is not None
    assert (reading.mean, reading.tail) == pytest.approx((1.1, 1.1))
    assert reading.table.load_qps == 120.0, "a load of 105 is one of 115.5 there"
    assert not reading.exact


def test_mean_and_tail_have_factors_of_their_own() -> None:
    reading = LeveledGrids({LEVEL: grid(100.0)}).read(estimate(tail=1.4), 2, 90.0)
    assert reading is not None
    assert reading.mean == pytest.approx(1.0)
    expected = (0.020 + 1.4 * np.hypot(0.002, 0.005)) / (0.020 + np.hypot(0.002, 0.005))
    assert reading.tail == pytest.approx(expected)


def test_a_faster_worker_is_promised_what_the_slower_one_is() -> None:
    reading = LeveledGrids({LEVEL: grid(100.0)}).read(estimate(run_factor=0.8), 2, 100.0)
    assert reading is not None
    assert reading.mean < 1.0
    assert reading.exact


def test_the_nearest_of_several_levels_is_read_and_the_slower_rather_than_the_faster() -> None:
    grids = LeveledGrids({LEVEL: grid(100.0, 200.0), SLOWER: grid(67.0, 100.0)})
    assert read_load_and_mean(grids, estimate(), 80.0) == (100.0, pytest.approx(1.0))
    slow = estimate(run_factor=SLOWER.run_factor, path_s=SLOWER.path_s)
    assert read_load_and_mean(grids, slow, 80.0) == (100.0, pytest.approx(1.0))
    between = np.sqrt(SLOWER.run_factor)
    middle = estimate(run_factor=float(between), path_s=0.010 * float(between))
    assert read_load_and_mean(grids, middle, 80.0)[1] < 1.0


def test_a_way_that_is_a_small_part_of_the_time_does_not_outweigh_the_tail_of_runs() -> None:
    long_tail = LatencyLevel(run_factor=1.0, run_tail=1.2, path_s=0.004, path_tail=1.5)
    longer_way = LatencyLevel(run_factor=1.0, run_tail=1.14, path_s=0.006, path_tail=1.5)
    grids = LeveledGrids({long_tail: grid(100.0), longer_way: grid(101.0)})
    worker = LatencyEstimate(run_factor=1.0, run_tail=1.145, path_s=0.004, path_tail_s=0.006, typical_run_s=0.2)
    assert read_load_and_mean(grids, worker, 90.0)[0] == 101.0
    brief = replace(worker, run_tail=1.19, typical_run_s=0.004)
    assert read_load_and_mean(grids, brief, 90.0)[0] == 100.0, "with runs as short as the way it does"


def read_load_and_mean(grids: LeveledGrids, latency: LatencyEstimate, load_qps: float) -> tuple[float, float]:
    reading = grids.read(latency, 2, load_qps)
    assert reading is not None
    return reading.table.load_qps, reading.mean


def test_a_farther_level_is_read_where_the_nearer_one_does_not_reach_the_load() -> None:
    grids = LeveledGrids({LEVEL: grid(100.0), LEVEL.inflated(1.07, 1.1): grid(400.0)})
    assert read_load_and_mean(grids, estimate(), 100.0)[0] == 100.0
    load_qps, mean = read_load_and_mean(grids, estimate(), 300.0)
    assert load_qps == 400.0
    assert mean < 1.0


def test_a_table_for_a_much_higher_load_is_worse_than_one_for_a_slightly_slower_worker() -> None:
    near = LEVEL.inflated(1.07, 1.1)
    grids = LeveledGrids({LEVEL: grid(1000.0), near: grid(100.0)})
    assert read_load_and_mean(grids, estimate(), 100.0)[0] == 100.0


def test_nothing_is_read_beyond_loads_that_tables_are_near() -> None:
    grids = LeveledGrids({LEVEL: grid(100.0)})
    assert grids.read(estimate(), 2, 135.1) is None
    assert grids.read(estimate(run_factor=0.5, path_s=0.005), 2, 300.0) is None, "nor for faster workers"
    assert grids.read(estimate(), 4, 270.1) is None, "twice as many workers share it"
    assert LeveledGrids({}).read(estimate(), 2, 10.0) is None


@pytest.mark.parametrize("slower", [0.5, 1.4, 1.5])
def test_a_table_is_read_where_the_load_only_seems_to_be_more_than_can_be_borne(slower: float) -> None:
    """The first estimate of a load never seen is up to 1.5 times too high: then that for the highest load is read."""
    grids = LeveledGrids({LEVEL: grid(80.0, 100.0)})
    reading = grids.read(estimate(run_factor=slower, path_s=0.010 * slower), 2, 90.0)
    assert reading is not None
    assert (reading.mean, reading.tail) == pytest.approx((slower, slower))
    assert (reading.table.load_qps, reading.meets_load) == ((80.0, True) if slower < 1.0 else (100.0, False))
    assert reading.exact == (slower < 1.0)


@pytest.mark.parametrize("slower", [0.1, 2.0, 3.0])
def test_nothing_is_read_for_latencies_that_tables_are_far_from(slower: float) -> None:
    grids = LeveledGrids({LEVEL: grid(80.0, 100.0)})
    assert grids.read(estimate(run_factor=slower, path_s=0.010 * slower), 2, 10.0) is None


def test_until_there_is_a_table_for_a_load_that_rose_the_one_for_a_lower_load_is_read_and_promises_nothing() -> None:
    grids = LeveledGrids({LEVEL: grid(80.0, 100.0)})
    reading = grids.read(estimate(), 2, 130.0)
    assert reading is not None
    assert (reading.table.load_qps, reading.exact) == (100.0, False)
    made = LeveledGrids({LEVEL: grid(80.0, 100.0, 130.0)}).read(estimate(), 2, 130.0)
    assert made is not None
    assert (made.table.load_qps, made.exact) == (130.0, True)


def test_a_level_nearby_that_meets_the_load_is_read_before_one_that_does_not() -> None:
    grids = LeveledGrids({LEVEL: grid(100.0), LEVEL.inflated(1.03, 1.0): grid(150.0)})
    assert read_load_and_mean(grids, estimate(), 130.0)[0] == 150.0
    assert read_load_and_mean(grids, estimate(), 101.0)[0] == 100.0


def test_too_far_a_level_is_not_read_because_the_nearer_one_is_for_too_high_a_load() -> None:
    far = LEVEL.inflated(3.0, 3.0)
    grids = LeveledGrids({LEVEL: grid(1e6), far: grid(1.0, 30.0)})
    assert read_load_and_mean(grids, estimate(), 10.0)[0] == 1e6


def test_with_another_number_of_workers_the_load_per_worker_counts() -> None:
    grids = LeveledGrids({LEVEL: grid(100.0, 200.0)})
    reading = grids.read(estimate(), 1, 80.0)
    assert reading is not None
    assert reading.table.load_qps == 200.0


def test_bounds_hold_up_to_a_difference_that_does_not_matter() -> None:
    grids = LeveledGrids({LEVEL: grid(200.0)})
    for factor, exact in ((EXACT - 0.01, True), (EXACT + 0.01, False)):
        reading = grids.read(estimate(run_factor=factor, path_s=0.010 * factor), 2, 100.0)
        assert reading is not None
        assert reading.exact is exact


def test_readings_do_not_depend_on_what_was_asked_before() -> None:
    rng = np.random.default_rng(1)
    loads = (50.0, 100.0, 200.0, 400.0)
    used = LeveledGrids({LEVEL: grid(*loads), SLOWER: grid(*loads)})
    for _ in range(300):
        latency = estimate(float(rng.uniform(0.5, 3.0)), float(rng.uniform(0.005, 0.03)))
        load_qps = float(rng.uniform(1.0, 500.0))
        assert used.read(latency, 2, load_qps) == LeveledGrids(used.grids).read(latency, 2, load_qps)


def test_before_the_first_batch_a_way_that_is_told_to_be_none_is_read_as_a_short_one() -> None:
    near = LatencyLevel(run_factor=1.0, run_tail=1.0, path_s=0.0005, path_tail=1.0)
    for level in (LEVEL, near):
        reading = LeveledGrids({level: grid(100.0)}).read(LatencyEstimator(0.0).typical(), 2, 50.0)
        assert reading is None or reading.table.load_qps == 100.0

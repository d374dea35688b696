"""Endpoints that are served by decision tables."""

from dataclasses import replace

from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.round_robin import RoundRobin
from dispatch.balancing.shortest_queue import ShortestQueue
from dispatch.latency.estimate import LatencyEstimate
from dispatch.load.known import KnownLoad
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.leveled_grids import LeveledGrids
from dispatch.table_plan import TableGroup, with_selection, with_tables
from dispatch_scene import FAST, SLOW, endpoint

PROBLEM = WorkerProblem.of((FAST, SLOW), 0.1, 2, Poisson(1.0))
LOAD = KnownLoad([0.0, 1.0, 2.0], [5.0, 15.0, 500.0])


def grid(*groups: int) -> TableGrid:
    """Tables for loads of 10, 20, ... queries/s, made for these groups."""
    beyond = beyond_table(PROBLEM, groups[-1])
    borne = replace(beyond, expected_violation_rate=0.05)
    loads = enumerate(groups, start=1)
    return TableGrid(tuple(replace(borne, load_qps=10.0 * n, group=group) for n, group in loads), beyond)


def test_round_robin_gives_as_many_in_a_row_as_the_table_in_force_was_made_for() -> None:
    group = TableGroup(RamsisSelection({"cpu": grid(1, 3, 4)}), LOAD)
    assert [group(now_s, 2) for now_s in (0.5, 1.5, 2.5)] == [1, 3, 4]
    assert TableGroup(RamsisSelection({"cpu": grid(1, 3, 4), "gpu": grid(2, 2, 2)}), LOAD)(1.5, 2) == 2
    assert group(0.5, 1) == 1, "5/s on one worker is what 10/s is on the two that the grid was made for"
    assert group(1.5, 1) == 4


def test_the_group_is_that_of_the_table_for_the_latency_there_is() -> None:
    level = LatencyLevel(run_factor=1.0, run_tail=1.0, path_s=0.01, path_tail=1.0)
    selection = RamsisSelection(leveled={"cpu": LeveledGrids({level: grid(2, 3)})})
    latency = LatencyEstimate(path_s=0.01, path_tail_s=0.01)
    group = TableGroup(selection, LOAD, lambda: latency)
    assert [group(now_s, 2) for now_s in (0.5, 1.5, 2.5)] == [2, 3, 1]
    latency = LatencyEstimate(path_s=0.011, path_tail_s=0.011)
    assert group(0.5, 2) == 2
    assert group(1.5, 2) == 3
    latency = LatencyEstimate(path_s=1.0, path_tail_s=1.0)
    assert group(0.5, 2) == 1, "no table is near"


def test_new_tables_keep_what_the_load_monitor_knows_and_the_kind_of_balancing() -> None:
    before = endpoint()
    before.stage.load.on_arrival(0.0)
    after = with_tables(before, {"cpu": grid(3)})
    assert after.stage.load is before.stage.load
    assert isinstance(after.stage.selection, RamsisSelection)
    assert isinstance(after.stage.balancer, RoundRobin)
    assert isinstance(with_tables(endpoint(balancing="shortest_queue"), {"cpu": grid(3)}).stage.balancer, ShortestQueue)


def test_new_tables_leave_the_turn_where_it_is() -> None:
    before = with_tables(endpoint(), {"cpu": grid(2)})
    loads = [WorkerLoad(f"w{number}") for number in range(3)]
    assert [before.stage.balancer.pick(loads, 0.0) for _ in range(3)] == [0, 0, 1]
    after = with_tables(before, {"cpu": grid(1)})
    assert after.stage.balancer.phase(2) == before.stage.balancer.phase(2)
    assert [after.stage.balancer.pick(loads, 0.0) for _ in range(7)] == [1, 2, 2, 0, 1, 2, 0]


def test_a_policy_by_levels_of_latency_is_put_in_force_as_it_is() -> None:
    selection = RamsisSelection(leveled={"cpu": LeveledGrids({})})
    assert with_selection(endpoint(), selection).stage.selection is selection

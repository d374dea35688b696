"""Which tables are made, in which order."""

from dataclasses import replace

import numpy as np
import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import fluid_capacity_qps
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.table import DecisionTable
from dispatch.selection.ramsis.tables.work import (
    AHEAD,
    IDLE_QUERIES,
    MOST_LEVELS,
    NEAR,
    RUNG,
    SPARSE,
    TableTask,
    TableWork,
    worth_a_table,
)
from latency_scene import OFFERED, PATH_S, SLO_S

TASK = TableTask(OFFERED, slo_s=SLO_S, workers=2, balancing="round_robin", highest_qps=500.0)
HERE = LatencyEstimate(run_tail=1.2, path_s=PATH_S, path_tail_s=1.4 * PATH_S)
LEVEL = LatencyLevel.above(HERE)
ELSEWHERE = LatencyEstimate(run_factor=1.25, run_tail=1.2, path_s=0.007, path_tail_s=0.011)
LOAD_QPS = 100.0


def aimed(latency: LatencyEstimate = HERE, load_qps: float = LOAD_QPS, task: TableTask = TASK) -> TableWork:
    work = TableWork(task)
    work.aim(latency, load_qps)
    return work


def instant(problem: WorkerProblem) -> DecisionTable:
    """A table that decides nothing, made in no time."""
    decisions = np.zeros((1, 1, 1), dtype=np.uint8)
    return DecisionTable.of(problem, np.zeros(1), decisions, None, 0.9, 0.0)


def make(work: TableWork) -> list[tuple[LatencyLevel, float]]:
    """Make one table after the other until no more is wanted; gives their order."""
    order = []
    while (wanted := work.next()) is not None:
        level, problem = wanted
        work.add(level, instant(problem))
        order.append((level, problem.load_qps))
    return order


def test_the_present_latency_and_load_come_first_upwards_and_then_what_may_come() -> None:
    order = make(aimed())
    low_qps, high_qps = (factor * LOAD_QPS for factor in NEAR)
    near = [load_qps for _, load_qps in order[: _near_count(order)]]
    above, below = [q for q in near if q >= LOAD_QPS], [q for q in near if q < LOAD_QPS]
    assert near == [*sorted(above), *sorted(below)], "from the present load upwards, then what is below"
    assert LOAD_QPS <= above[0] < LOAD_QPS * RUNG
    assert above[-1] <= high_qps < above[-1] * RUNG
    assert low_qps <= below[0]
    levels = list(dict.fromkeys(level for level, _ in order))
    assert levels == list(dict.fromkeys(LEVEL.inflated(run, path) for run, path in AHEAD))
    assert levels[0] == LEVEL


def _near_count(order: list[tuple[LatencyLevel, float]]) -> int:
    """How many come before the first that is not near the present load."""
    low_qps, high_qps = (factor * LOAD_QPS for factor in NEAR)
    return next(i for i, (_, load_qps) in enumerate(order) if not low_qps <= load_qps <= high_qps)


def test_tables_for_queries_of_several_rows_count_queries() -> None:
    task = replace(TASK, query_rows=5)
    work = aimed(task=task)
    level, problem = work.next()
    assert LOAD_QPS / 5 <= problem.load_qps < LOAD_QPS / 5 * RUNG, "the load is in rows"
    by_rows = TASK.problem(level)
    for variant, latency_s in zip(problem.variants, problem.latency_s, strict=True):
        of_rows = by_rows.latency_s[by_rows.variants.index(variant)]
        assert latency_s[:3] == of_rows[4:15:5]
    assert max(load_qps for _, load_qps in make(work)) > LOAD_QPS
    assert work.grids is not None
    assert work.grids.query_rows == 5
    reading = work.grids.read(HERE, 2, LOAD_QPS)
    assert reading is not None
    assert reading.query_rows == 5
    assert reading.table.load_qps == pytest.approx(LOAD_QPS / 5, rel=0.1)


def test_until_what_is_needed_is_there_tables_for_queries_of_another_size_are_read() -> None:
    by_rows = aimed()
    make(by_rows)
    work = TableWork(replace(TASK, query_rows=5), by_rows.grids)
    work.aim(HERE, LOAD_QPS)
    made = []
    while (wanted := work.next(ahead=False)) is not None:
        made.append(wanted[1].load_qps)
        work.add(wanted[0], instant(wanted[1]))
        if len(made) == 1:
            grids = work.grids
            assert grids is not None
            here, far = grids.read(HERE, 2, LOAD_QPS), grids.read(HERE, 2, 2.0 * LOAD_QPS)
            assert here is not None
            assert far is not None
            assert (here.query_rows, far.query_rows) == (5, 1)
            assert far.meets_load
    first, above = made[0], [load_qps for load_qps in made[1:] if load_qps > NEAR[1] * LOAD_QPS / 5]
    assert LOAD_QPS / 5 <= first < LOAD_QPS / 5 * RUNG
    assert above == sorted(above)
    assert max(np.diff(np.log([first, *above]))) <= SPARSE * np.log(RUNG) * 1.5
    assert work.grids is not None
    assert work.grids.before is None


def test_what_cannot_take_a_query_at_once_is_not_for_it_where_anything_can() -> None:
    small = replace(OFFERED[0], latency_s=OFFERED[0].latency_s[:4], mean_s=OFFERED[0].mean_s[:4])
    task = replace(TASK, offered=(small, *OFFERED[1:]), query_rows=5)
    assert [each.variant for each in task.of_queries] == [each.variant for each in OFFERED[1:]]
    alone = replace(task, offered=(small,)).of_queries
    assert [each.latency_s for each in alone] == [(0.0, small.latency_s[3])]


def test_every_table_is_made_once_and_progress_counts_them() -> None:
    work = aimed()
    assert (work.made, work.grids) == (0, None)
    wanted = work.wanted
    order = make(work)
    assert len(order) == len(set(order)) == wanted == work.made == work.wanted
    assert work.grids is not None
    assert {(level, q) for level, grid in work.grids.grids.items() for q in grid.loads_qps} == set(order)


def test_loads_reach_from_one_that_is_light_to_where_workers_router_or_path_end() -> None:
    for highest_qps in (500.0, 1e9):
        task = TableTask(OFFERED, slo_s=SLO_S, workers=2, balancing="round_robin", highest_qps=highest_qps)
        made = make(aimed(task=task))
        for level in {level for level, _ in made}:
            loads_qps = [load_qps for of, load_qps in made if of == level]
            fluid_qps = fluid_capacity_qps(task.problem(level))
            assert max(loads_qps) == pytest.approx(min(fluid_qps, highest_qps))
            assert min(loads_qps) <= IDLE_QUERIES / SLO_S * 2 * RUNG**SPARSE
            assert max(np.diff(np.log(sorted(loads_qps)))) <= SPARSE * np.log(RUNG) + 1e-9


def test_no_table_is_wanted_for_a_load_above_what_can_be_borne_beside_those_made_ahead() -> None:
    work = aimed(load_qps=1e6)
    assert max(load_qps for _, load_qps in make(work)) <= TASK.highest_qps


def test_another_latency_is_aimed_at_and_what_was_made_is_kept() -> None:
    work = aimed()
    before = make(work)
    work.aim(ELSEWHERE, LOAD_QPS)
    assert work.made < work.wanted
    first, problem = work.next()
    assert first == LatencyLevel.above(ELSEWHERE)
    assert LOAD_QPS <= problem.load_qps < LOAD_QPS * RUNG
    make(work)
    work.aim(HERE, LOAD_QPS)
    assert work.next() is None
    assert work.made == work.wanted == len(before)


def test_another_load_is_aimed_at_within_the_same_ladder() -> None:
    work = aimed()
    before = set(make(work))
    work.aim(HERE, 2.0 * LOAD_QPS)
    more = make(work)
    assert more
    assert not before & set(more)
    assert all(level == LEVEL and 0.9 * 200.0 <= load_qps <= 1.3 * 200.0 for level, load_qps in more)


def test_levels_aimed_at_longest_ago_are_forgotten_and_what_comes_of_them_late_is_dropped() -> None:
    work = aimed()
    level, problem = work.next()
    for number in range(1, MOST_LEVELS):
        path_s = PATH_S * 1.2**number
        work.aim(LatencyEstimate(run_factor=1.0, run_tail=1.2, path_s=path_s, path_tail_s=path_s), 1.0)
    work.add(level, instant(problem))
    assert work.grids is None
    work.aim(HERE, LOAD_QPS)
    assert work.made == 0


def test_the_problem_has_the_latencies_of_the_level() -> None:
    problem = TASK.problem(LEVEL)
    slow = LEVEL.estimate.corrected(OFFERED[0])
    index = problem.variants.index(slow.variant)
    assert problem.latency_s[index][: slow.max_batch] == slow.latency_s[1:]
    assert problem.busy_s[index][: slow.max_batch] == slow.mean_s[1:]
    shortest = TableTask(OFFERED, SLO_S, workers=2, balancing="shortest_queue", highest_qps=1.0)
    assert shortest.problem(LEVEL).formulation == "per_decision"
    assert problem.formulation == "per_query"
    assert replace(TASK, formulation="per_decision").problem(LEVEL).formulation == "per_decision"


def test_candidates_off_the_pareto_front_are_worth_no_table() -> None:
    worse = Candidate("worse", 0.7, OFFERED[0].latency_s)
    assert worth_a_table((*OFFERED, worse), SLO_S) == OFFERED
    assert worth_a_table((), SLO_S) == ()

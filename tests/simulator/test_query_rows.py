"""Queries of several rows in virtual time: tables that count queries against those that count rows."""

import numpy as np
import pytest

from autoscaler.loop.control_loop import ControlLoop
from control_scene import to_good
from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.solver import solve
from dispatch.selection.ramsis.tables.work import TableTask, TableWork
from latency_scene import OFFERED, PATH_S, SLO_S, Played, ProfiledRuns, play
from simulator.changing_latency import ChangingLatency
from simulator.control_path import ControlPath
from simulator.host import Host

ROWS = 4
END_S = 60.0


def tables(query_rows: int, load_qps: float) -> RamsisSelection:
    """Those for about so many queries per second on two workers, whose queries have four rows in truth."""
    task = TableTask(
        OFFERED, slo_s=SLO_S, workers=2, balancing="round_robin", highest_qps=2000.0, query_rows=query_rows
    )
    work = TableWork(task)
    work.aim(LatencyEstimate(run_tail=1.2, path_s=PATH_S, path_tail_s=1.4 * PATH_S), ROWS * load_qps)
    while (wanted := work.next(ahead=False)) is not None:
        work.add(wanted[0], solve(wanted[1]))
    grids = work.grids
    assert grids is not None
    return RamsisSelection(leveled={"cpu": grids})


def played(query_rows: int, load_qps: float) -> Played:
    latency = ChangingLatency(ProfiledRuns(), (), np.random.default_rng(5), 0.1, 0.2)
    return play(tables(query_rows, load_qps), latency, load_qps, END_S, query_rows=ROWS)


@pytest.mark.parametrize("load_qps", [40.0, 60.0])
def test_tables_that_count_queries_are_more_accurate_and_keep_the_promise(load_qps: float) -> None:
    by_queries, by_rows = played(ROWS, load_qps), played(1, load_qps)
    assert by_queries.accuracy(1.0, END_S) > by_rows.accuracy(1.0, END_S) + 0.005
    assert by_queries.violation_rate(1.0, END_S) < 0.005


def test_a_control_path_counts_queries_and_takes_none_of_several_rows() -> None:
    scene = to_good()
    control = ControlPath(
        ControlLoop(scene.interval_s, scene.demand, None, scene.initial), scene.planner, scene.serving, {"w0": "cpu"}
    )
    host = Host(control.plan, {"w0": "cpu"}, ProfiledRuns(), control)
    with pytest.raises(ValueError, match="leave one of both out"):
        host.run({"e": np.array([1.0, 2.0])}, rows=[8, 8])

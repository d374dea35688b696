"""Workers whose next batch is launched while a result is on its way: what they bear more, in virtual time."""

import numpy as np
import pytest

from dispatch.selection.greedy import GreedySelection
from latency_scene import PATH_S, ProfiledRuns, play
from simulator.batch_log import Batches
from simulator.changing_latency import ChangingLatency
from simulator.record import Record
from simulator.reporting.report import Report

WITHOUT_QPS, WITH_QPS = 2 * 16 / (0.0148 + PATH_S), 2 * 16 / 0.0148
"""What two workers bear with full batches of the fastest variant, which run for 14.8 ms: results waited for, and not
(1,616 and 2,162 queries/s)."""


def violations(monkeypatch: pytest.MonkeyPatch, lead: float, load_qps: float, *, varying: float = 0.0) -> float:
    monkeypatch.setattr("dispatch.latency.estimator.LEAD", lead)
    latency = ChangingLatency(ProfiledRuns(), (), np.random.default_rng(3), varying, varying)
    return play(GreedySelection(), latency, load_qps, 20.0).violation_rate(5.0, 18.0)


@pytest.mark.parametrize("varying", [0.0, 0.1])
def test_workers_bear_loads_that_leave_no_time_to_wait_for_results(
    monkeypatch: pytest.MonkeyPatch, varying: float
) -> None:
    load_qps = 0.75 * WITHOUT_QPS + 0.25 * WITH_QPS
    assert violations(monkeypatch, 0.0, load_qps, varying=varying) > 0.5
    assert violations(monkeypatch, 0.9, load_qps, varying=varying) < 0.02


def test_a_worker_is_busy_once_while_a_batch_waits_behind_another() -> None:
    batches = Batches(
        ["v"],
        ["w0", "w1"],
        variant=np.array([0, 0, 0]),
        worker=np.array([0, 1, 0]),
        accuracy=np.ones(3),
        jobs=np.ones(3, dtype=np.intp),
        launched_s=np.array([0.0, 0.0, 3.0]),
        done_s=np.array([4.0, 6.0, 8.0]),
        query_ids=np.arange(3),
    )
    arrival_s = np.array([0.0, 0.0, 3.0])
    record = Record(["e"], arrival_s, arrival_s + 9.0, np.zeros(3, dtype=np.intp), np.arange(3), batches)
    assert Report.of(record, 1.0).utilisation_pct == pytest.approx(100.0 * (8.0 + 6.0) / (2 * 8.0))
    assert batches.launched_s.tolist() == [0.0, 0.0, 3.0], "looked at and left"

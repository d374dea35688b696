"""The figures of a report, on a run that is small enough to work out by hand."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from dispatch.balancing.registry import create_balancer
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.reporting.plot import save_plots
from simulator.reporting.report import EndpointReport, Report

FAST = Candidate("fast", 0.6, (0.0, 0.25, 0.25, 0.25))
GOOD = Candidate("good", 0.8, (0.0, 1.0, 1.5, 2.0))


def report(arrivals_s: list[float], slo_s: float, max_queued_rows: int = 99) -> Report:
    endpoint = EndpointPlan.of_stage(
        "e",
        StagePlan({"cpu": (GOOD, FAST)}, GreedySelection(), create_balancer("round_robin")),
        slo_s=slo_s,
        max_queued_rows=max_queued_rows,
    )
    host = Host(Plan(1, {"e": endpoint}), {"w0": "cpu"}, PlannedLatency(endpoint))
    return Report.of(host.run({"e": np.array(arrivals_s)}), interval_s=1.0)


def first_case() -> EndpointReport:
    # 0 runs alone on "good" until 1.0; 1 and 2 go together then, on "fast" as 1 is due at 1.125, and are done at 1.25
    return report([0.0, 0.125, 0.5], slo_s=1.0).endpoints["e"]


def test_each_query_counts_against_its_own_deadline() -> None:
    e = first_case()
    assert e.queries == 3
    assert e.violation_pct == pytest.approx(100 / 3)
    assert e.accuracy_pct == pytest.approx((80 + 60) / 2)


def test_by_batch_a_batch_is_late_as_a_whole() -> None:
    e = first_case()
    assert e.violation_by_batch_pct == pytest.approx(200 / 3)
    assert e.accuracy_by_batch_pct == pytest.approx(80.0)


def test_latencies_batches_and_shares_are_of_what_was_answered() -> None:
    e = first_case()
    assert e.latency_ms is not None
    assert e.latency_ms["p50"] == pytest.approx(1000.0)  # of 1000, 1125 and 750 ms
    assert e.mean_batch == pytest.approx(1.5)
    assert e.share_pct == {"good": pytest.approx(100 / 3), "fast": pytest.approx(200 / 3)}
    assert list(e.share_pct) == ["good", "fast"], "most accurate first"


def test_workers_are_busy_for_the_time_of_their_batches() -> None:
    r = report([0.0, 3.0], slo_s=1.0)
    assert (r.duration_s, r.workers) == (4.0, 1)
    assert r.utilisation_pct == pytest.approx(50.0)


def test_a_refused_query_is_a_violation_and_has_no_accuracy() -> None:
    e = report([0.0, 0.0, 0.0], slo_s=9.0, max_queued_rows=1).endpoints["e"]
    assert (e.queries, e.refused) == (3, 1)
    assert e.violation_pct == e.violation_by_batch_pct == pytest.approx(100 / 3)
    assert e.accuracy_pct == pytest.approx(80.0)


def test_the_series_has_queries_where_they_arrived_and_none_where_there_were_none() -> None:
    series = report([0.0, 0.125, 0.5, 2.5], slo_s=1.0).endpoints["e"].series
    assert series.start_s == [0.0, 1.0, 2.0]
    assert series.arrivals_qps == [3.0, 0.0, 1.0]
    assert series.accuracy_pct == [pytest.approx(70.0), None, pytest.approx(80.0)]
    assert series.violation_pct == [pytest.approx(100 / 3), None, 0.0]
    assert series.share_pct["good"] == [pytest.approx(100 / 3), None, 100.0]


def test_a_report_without_queries_is_empty() -> None:
    e = report([], slo_s=1.0).endpoints["e"]
    assert (e.queries, e.accuracy_pct, e.violation_pct, e.mean_batch, e.latency_ms) == (0, None, None, None, None)


def test_a_report_is_plain_json() -> None:
    r = report([0.0, 2.5], slo_s=1.0)
    assert orjson.loads(orjson.dumps(r.as_json()))["endpoints"]["e"]["queries"] == 2


@pytest.mark.parametrize("arrivals_s", [[], [0.0, 0.125, 2.5]])
def test_every_endpoint_gets_a_picture(tmp_path: Path, arrivals_s: list[float]) -> None:
    (path,) = save_plots(report(arrivals_s, slo_s=1.0), tmp_path / "plots")
    assert path.name == "e.png"
    assert path.read_bytes().startswith(b"\x89PNG")

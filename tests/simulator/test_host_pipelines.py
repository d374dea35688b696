"""Pipelines in virtual time: what the record has of their queries."""

from dataclasses import replace

import numpy as np
import pytest

from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import Graph, Node, Part
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.metrics import Metrics
from simulator.reporting.report import Report

RUN_S = 0.1


def pipeline(*stages: str, parts: int = 1) -> EndpointPlan:
    """Stages one after the other, each with so many jobs of a query."""
    nodes = tuple(
        Node(name, stages[number - 1 : number] if number else (), lambda _: [Part({}, 1)] * parts)
        for number, name in enumerate(stages)
    )
    plans = {
        name: StagePlan({"cpu": (Candidate(name, 0.9, (0.0, RUN_S)),)}, GreedySelection(), None) for name in stages
    }
    flow = PipelineFlow(Graph(nodes, lambda *_: {}))
    return EndpointPlan("page", EndpointLimits(10.0, False, 100), plans, flow)


@pytest.mark.parametrize(
    ("stages", "parts", "latency_s"), [(("a",), 1, 0.1), (("a",), 3, 0.3), (("a", "b"), 1, 0.2), (("a", "b"), 2, 0.4)]
)
def test_a_query_is_done_when_the_last_job_of_its_last_stage_is(
    stages: tuple[str, ...], parts: int, latency_s: float
) -> None:
    endpoint = pipeline(*stages, parts=parts)
    host = Host(Plan(1, {"page": endpoint}), {"w": "cpu"}, PlannedLatency(endpoint))
    record = host.run({"page": np.array([0.0, 5.0])})
    assert record.done_s - record.arrival_s == pytest.approx([latency_s, latency_s])


def test_metrics_and_report_count_answers_that_several_batches_made() -> None:
    endpoint = replace(pipeline("a", "b"), limits=EndpointLimits(0.35, False, 1))
    host = Host(Plan(1, {"page": endpoint}), {"w": "cpu"}, PlannedLatency(endpoint))
    record = host.run({"page": np.array([0.0, 5.0, 5.0, 5.0])})
    assert record.done_s.tolist()[3] == np.inf, "one runs, and one may wait"
    assert record.done_s[2] == pytest.approx(5.4)
    assert record.accuracy == pytest.approx([0.81, 0.81, 0.81, np.nan], nan_ok=True)
    assert Metrics.of(record) == Metrics(3 / 5.0, 3 / 5.0, pytest.approx(81.0), pytest.approx(19.0), 0.5)  # type: ignore[arg-type]
    report = Report.of(record, interval_s=5.0).endpoints["page"]
    assert (report.queries, report.refused, report.violation_pct) == (4, 1, 50.0)
    assert report.accuracy_pct == pytest.approx(81.0)
    assert report.latency_ms is not None
    assert report.latency_ms["p50"] == pytest.approx(300.0)
    assert (report.mean_batch, report.accuracy_by_batch_pct, report.violation_by_batch_pct) == (None, None, None)
    assert report.share_pct == {}

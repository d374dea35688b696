"""Pipelines in virtual time: what the record has of their queries."""

import numpy as np
import pytest

from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import Graph, Node, Part
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.host import Host
from simulator.latency import PlannedLatency

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

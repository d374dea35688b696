"""Replicas of a pipeline's stages: new ones before the old go, batches as planned, costs as counted by hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autoscaler.cluster.observation import Statistics
from autoscaler.planners.ipa.solution import Active
from catalog.errors import ConfigError
from dispatch.batching.planned_batches import PlannedBatches
from dispatch.dispatcher import Dispatcher
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import Graph, Node, Part
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.pools.pipeline_replicas import PipelineReplicas, Replica, ReplicaTimes, Stages, mean_cost
from simulator.record import Record

NAME, DEVICE = "two-stages", "cores"
SMALL, LARGE, LAST = (
    Candidate(name, accuracy, (0.0, *(first_s + 0.1 * rows for rows in range(8))))
    for name, accuracy, first_s in (("small", 0.5, 0.1), ("large", 0.9, 0.4), ("last", 0.5, 0.1))
)


class Steps:
    """A demand that is known: so many queries a second from each instant on."""

    def __init__(self, *steps: tuple[float, float]) -> None:
        self._steps = steps
        self._now_s = 0.0

    def on_statistics(self, statistics: Statistics) -> None:
        self._now_s = statistics.end_s

    def demand_qps(self) -> dict[str, float]:
        return {NAME: [qps for at_s, qps in self._steps if at_s <= self._now_s][-1]}


def active(variant: str, replicas: int, batch_rows: int = 1, cores: int = 1) -> tuple[Active, ...]:
    return (Active(variant, DEVICE, batch_rows, replicas, float(cores * replicas), 0.1, 0.0, 10.0),)


def endpoint() -> EndpointPlan:
    stages = {
        name: StagePlan({DEVICE: own}, GreedySelection(), None)
        for name, own in {"first": (SMALL, LARGE), "second": (LAST,)}.items()
    }
    nodes = (Node("first", (), lambda _: (Part({}, 1),)), Node("second", ("first",), lambda _: (Part({}, 1),)))
    flow = PipelineFlow(Graph(nodes, lambda _, __: {}))
    return EndpointPlan(NAME, EndpointLimits(5.0, drop_late=True, max_queued_rows=10_000), stages, flow)


def run(
    decide: Callable[[float], Stages], demand: Steps, arrivals_s: list[float], times: ReplicaTimes | None = None
) -> tuple[Record, PipelineReplicas]:
    plan = endpoint()
    replicas = PipelineReplicas(plan, demand, decide, times)
    record = Host(replicas.plan, replicas.workers, PlannedLatency(plan), replicas).run({NAME: np.array(arrivals_s)})
    return record, replicas


def spans(replicas: PipelineReplicas, variant: str) -> list[tuple[float, float, float]]:
    return [(each.asked_s, each.ready_s, each.ended_s) for each in replicas.replicas if each.variant == variant]


def to_large_at_8(load_qps: float) -> Stages:
    return {"first": active("large", 2, cores=4) if load_qps > 5 else active("small", 1), "second": active("last", 1)}


def test_the_new_replicas_come_before_the_old_ones_go_and_nobody_is_lost_meanwhile() -> None:
    arrivals_s = [0.5 * number + 0.25 for number in range(80)]
    record, replicas = run(to_large_at_8, Steps((0.0, 1.0), (10.0, 8.0), (30.0, 1.0)), arrivals_s)
    assert (record.done_s <= record.deadline_s).all()
    large = spans(replicas, "large")
    assert [each[:2] for each in large] == [(10.0, 18.0), (10.0, 18.0)]
    assert {each[2] for each in large} <= {38.0, 39.0}  # at once, or at the report after its last batch
    first, again = spans(replicas, "small")
    assert first[:2] == (0.0, 0.0)
    assert 18.0 <= first[2] <= 19.0
    assert again == (30.0, 38.0, np.inf)
    ran = {record.batches.variants[own] for own in record.batches.variant}
    assert ran == {"small", "large", "last"}
    launched = record.batches.launched_s[record.batches.variant == record.batches.variants.index("large")]
    assert launched.min() >= 18.0
    assert launched.max() < 38.0


def test_costs_are_counted_from_asking_to_going() -> None:
    _, replicas = run(to_large_at_8, Steps((0.0, 1.0), (10.0, 8.0)), [0.25 + number for number in range(30)])
    gone_s = spans(replicas, "small")[0][2]
    by_hand = (1.0 * gone_s + 2 * 4.0 * (25.0 - 10.0) + 1.0 * 25.0) / 25.0
    assert mean_cost(replicas.replicas, 0.0, 25.0) == pytest.approx(by_hand)
    assert mean_cost([Replica("w", "s", "v", "d", 3.0, 4.0, 12.0, 9.0)], 5.0, 15.0) == pytest.approx(3.0 * 4.0 / 10.0)


def test_batches_have_the_size_that_was_planned_as_soon_as_the_plan_is_in_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def decide(load_qps: float) -> Stages:
        rows = 4 if load_qps > 5 else 2
        return {"first": active("small", 1, rows), "second": active("last", 8, 1)}

    plans: list[SelectionPolicy] = []
    original = Dispatcher.apply

    def heard(self: Dispatcher, plan: Plan, *more: Any) -> Any:
        plans.append(next(iter(plan.endpoints.values())).stages["first"].selection)
        return original(self, plan, *more)

    monkeypatch.setattr(Dispatcher, "apply", heard)
    _, replicas = run(decide, Steps((0.0, 1.0), (10.0, 8.0)), [float(number) for number in range(20)])
    first = next(iter(replicas.plan.endpoints.values())).stages["first"]
    assert isinstance(first.selection, PlannedBatches)
    assert isinstance(plans[-1], PlannedBatches)
    assert [first.selection.batch_rows, plans[-1].batch_rows] == [{"small": 2}, {"small": 4}]
    assert first.selection.time_share == 0.5
    assert len(spans(replicas, "small")) == 1  # the one that was there goes on


def test_a_replica_runs_a_better_variant_that_it_holds_where_the_stage_has_time() -> None:
    def decide(load_qps: float) -> Stages:
        (small,) = active("small", 1)
        return {"first": (replace(small, also=("large",)),), "second": active("last", 8)}

    def ran(gap_s: float) -> set[str]:
        record, replicas = run(decide, Steps((0.0, 1.0 / gap_s)), [gap_s * number for number in range(1, 60)])
        assert {each.held for each in replicas.replicas if each.stage == "first"} == {frozenset({"small", "large"})}
        assert (record.done_s <= record.deadline_s).all()
        return {record.batches.variants[number] for number in record.batches.variant} - {"last"}

    assert ran(2.0) == {"large"}
    assert ran(0.12) == {"small", "large"}


def test_a_stage_leaves_the_stages_behind_it_their_runs() -> None:
    _, replicas = run(to_large_at_8, Steps((0.0, 1.0)), [1.0])
    stages = next(iter(replicas.plan.endpoints.values())).stages
    assert stages["first"].after_s == pytest.approx(active("last", 1)[0].run_s)
    assert stages["second"].after_s == 0.0


def test_more_of_the_same_variant_join_those_that_are_there() -> None:
    def decide(load_qps: float) -> Stages:
        return {"first": active("small", 3 if load_qps > 5 else 1), "second": active("last", 1)}

    _, replicas = run(decide, Steps((0.0, 1.0), (10.0, 8.0), (30.0, 1.0)), [float(number) for number in range(40)])
    assert sorted(spans(replicas, "small")) == [(0.0, 0.0, np.inf), (10.0, 18.0, 30.0), (10.0, 18.0, 30.0)]


def test_a_decision_takes_the_place_of_one_that_is_still_under_way() -> None:
    times = ReplicaTimes(interval_s=5.0, start_s=8.0)
    steps = Steps((0.0, 1.0), (10.0, 8.0), (15.0, 1.0))
    record, replicas = run(to_large_at_8, steps, [float(number) for number in range(30)], times)
    assert spans(replicas, "large") == [(10.0, 18.0, 15.0), (10.0, 18.0, 15.0)]
    assert spans(replicas, "small") == [(0.0, 0.0, np.inf)]
    assert (record.done_s <= record.deadline_s).all()


def test_a_stage_is_never_without_replicas() -> None:
    def decide(load_qps: float) -> Stages:
        variant = "large" if int(load_qps) % 2 else "small"
        return {"first": active(variant, 1 + int(load_qps) % 3), "second": active("last", 1 + int(load_qps) % 2)}

    steps = Steps(*((10.0 * number, float(number)) for number in range(20)))
    _, replicas = run(decide, steps, [0.2 * number for number in range(900)])
    edges_s = sorted({each.ended_s for each in replicas.replicas if each.ended_s < np.inf})
    assert len(edges_s) > 5
    for stage in ("first", "second"):
        own = [each for each in replicas.replicas if each.stage == stage]
        for at_s in edges_s:
            assert any(each.ready_s <= at_s < each.ended_s for each in own)


def test_times_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"interval_s is 2\.5; give a multiple of report_s, 1"):
        ReplicaTimes(interval_s=2.5)
    with pytest.raises(ConfigError, match="report_s is 0"):
        ReplicaTimes(report_s=0.0)
    with pytest.raises(ConfigError, match="start_s is -1"):
        ReplicaTimes(start_s=-1.0)

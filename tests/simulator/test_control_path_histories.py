"""Plans that change in virtual time, over random histories."""

from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray

from autoscaler.cluster.plan import ClusterPlan
from control_scene import FAST, NO_ANSWER, Scene, Scripted, cluster_plan
from dispatch.balancing.shortest_queue import ShortestQueue
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from simulator.control_path import ControlTimes
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.record import Record
from workload.rate import RateSchedule
from workload.renewal import Poisson


def busy_scene(times: ControlTimes) -> Scene:
    plans = [
        cluster_plan(w0="good", w1="fast", w2="good"),
        cluster_plan(w1="good"),
        NO_ANSWER,
        cluster_plan(w0="fast", w1="fast", w2="fast"),
        cluster_plan(),
        cluster_plan(w0="good", w2="fast"),
    ]
    return Scene(
        Scripted([*plans, *plans, *plans]),
        cluster_plan(w0="fast", w1="fast"),
        interval_s=1.0,
        times=times,
        slo_s=0.5,
        drop_late=True,
        max_queued_rows=12,
        endpoints=("e", "f"),
    )


def busy_arrivals() -> dict[str, NDArray[np.float64]]:
    return {name: Poisson(RateSchedule.constant(9.0), seed).times_s(40.0) for seed, name in enumerate("ef")}


@pytest.mark.parametrize("make_before_break", [True, False])
def test_every_query_is_answered_once_or_refused_and_every_violation_reported(make_before_break: bool) -> None:
    scene = busy_scene(ControlTimes(0.75, 0.3, 0.6, make_before_break))
    record, control = scene.play(3, **busy_arrivals())
    answered = np.flatnonzero(record.batch >= 0)
    assert sorted(record.batches.query_ids.tolist()) == answered.tolist()
    assert 0 < len(answered) < len(record.batch)
    assert sum(isinstance(change.plan, ClusterPlan) for change in control.changes) > 10
    reports = [*scene.demand.reports, control.traffic.report(inf)]
    violated = int((record.done_s > record.deadline_s).sum())
    assert sum(sum(report.violated.values()) for report in reports) == violated
    assert sum(sum(report.arrived.values()) for report in reports) == len(record.batch)


@pytest.mark.parametrize("make_before_break", [True, False])
def test_every_batch_runs_on_a_variant_that_its_worker_held(make_before_break: bool) -> None:
    record, control = busy_scene(ControlTimes(0.75, 0.3, 0.6, make_before_break)).play(3, **busy_arrivals())
    batches = record.batches
    in_force = [change for change in control.changes if isinstance(change.plan, ClusterPlan)]
    for launched_s, worker, variant in zip(batches.launched_s, batches.worker, batches.variant, strict=True):
        # what is done at the very instant of a change still runs by the plan before
        before = [c for c in in_force if c.in_force_s is not None and c.in_force_s < launched_s]
        now = [c for c in in_force if c.in_force_s == launched_s]
        plans = [change.plan for change in (*(before or in_force[:1])[-1:], *now)]
        name = batches.workers[worker]
        assert any(plan and batches.variants[variant] in plan.held.get(name, ()) for plan in plans)


def test_two_runs_are_the_same_bit_for_bit() -> None:
    def run() -> Record:
        return busy_scene(ControlTimes(0.75, 0.3, 0.6)).play(3, **busy_arrivals())[0]

    first, second = run(), run()
    assert first.batch.tobytes() == second.batch.tobytes()
    assert first.done_s.tobytes() == second.done_s.tobytes()
    assert first.batches.worker.tobytes() == second.batches.worker.tobytes()


def test_a_control_path_that_never_plans_changes_nothing() -> None:
    scene = Scene(Scripted([None]), cluster_plan(w0="fast", w1="fast"), interval_s=inf, slo_s=0.5)
    arrivals_s = Poisson(RateSchedule.constant(14.0), 3).times_s(50.0)
    controlled, _ = scene.play(2, e=arrivals_s)
    plan = EndpointPlan.of_stage(
        "e", StagePlan({"cpu": (FAST,)}, GreedySelection(), ShortestQueue()), slo_s=0.5, max_queued_rows=100
    )
    plain = Host(Plan(1, {"e": plan}), {"w0": "cpu", "w1": "cpu"}, PlannedLatency(plan)).run({"e": arrivals_s})
    assert controlled.done_s.tobytes() == plain.done_s.tobytes()

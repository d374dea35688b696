"""What is known of a trace, and that a system's times and policies are those that it is played with."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from accuracy_scene import evenly
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.demand.burst import BurstTrigger
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import cluster, endpoint, linear, workers
from benchmarks.proteus import testbed
from benchmarks.proteus.play import REPORT_S, loads_of, play
from benchmarks.proteus.systems import System
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.worker_info import workers_of

ONE = cluster(endpoint("a", linear("a-fast", 0.8, 0.0, 0.01), linear("a-best", 1.0, 0.0, 0.04), slo_s=0.2))
BED = testbed.Testbed(ONE, workers(cpu=2), ())


def plan_for(qps: float) -> ClusterPlan:
    plan = ProteusPlanner(ONE).plan(Observation(0.0, {"a": qps}, workers_of(BED.workers), {}))
    assert isinstance(plan, ClusterPlan)
    return plan


def test_loads_are_of_the_first_ten_seconds_of_all_and_of_the_busiest() -> None:
    a = np.array([0.0, 9.99, 10.0, 25.0, 26.0, 29.999])
    b = np.array([12.0, 20.0, 40.0])
    loads = loads_of({"a": a, "b": b})
    assert loads.first_qps == {"a": 0.2, "b": 0.0}
    assert loads.mean_qps == {"a": 6 / 40, "b": 3 / 40}
    assert loads.peak_qps == {"a": 0.3, "b": 0.1}  # from 20 to 30 s; b was no busier in 10 to 20 s


def test_a_trace_shorter_than_a_window_has_one_load() -> None:
    loads = loads_of({"a": np.array([0.5, 1.0])})
    for qps in (loads.first_qps, loads.mean_qps, loads.peak_qps):
        assert qps == pytest.approx({"a": 2.0})


def test_a_plan_is_charged_what_the_system_says_and_loading_on_top() -> None:
    arrivals_s = {"a": np.array(evenly(20.0, 0.0, 10.0) + evenly(100.0, 10.0, 20.0))}
    system = System(
        ONE, ProteusPlanner(ONE), plan_for(20.0), AdaptiveBatching(), interval_s=6.0, trigger=None, solve_s=0.7
    )
    first, *later = play(system, BED, arrivals_s, load_s=2.0).changes
    assert first.plan == system.initial
    assert [change.asked_s for change in later] == [6.0, 12.0, 18.0]
    assert [bool(change.loading) for change in later] == [False, True, False]
    for change in later:
        assert change.in_force_s == pytest.approx(change.asked_s + 0.7 + (2.0 if change.loading else 0.0))


def test_a_burst_is_planned_for_at_the_next_report() -> None:
    arrivals_s = {"a": np.array(evenly(20.0, 0.0, 10.0) + evenly(100.0, 10.0, 20.0))}
    system = System(ONE, ProteusPlanner(ONE), plan_for(20.0), AdaptiveBatching(), trigger=BurstTrigger())
    _, burst, *_ = play(system, BED, arrivals_s, load_s=1.0).changes
    assert 10.0 < burst.asked_s <= 10.0 + 2 * REPORT_S
    assert "the plan has room for" in burst.reason


def test_a_system_that_plans_no_more_keeps_its_plan() -> None:
    arrivals_s = {"a": np.array(evenly(20.0, 0.0, 5.0) + evenly(150.0, 5.0, 10.0))}
    system = System(ONE, ProteusPlanner(ONE), plan_for(20.0), AdaptiveBatching())
    assert system.interval_s == inf
    played = play(system, BED, arrivals_s, load_s=1.0)
    assert len(played.changes) == 1
    assert set(np.array(played.record.batches.variants)[played.record.batches.variant]) == {"a-best"}


def test_with_drop_late_no_batch_begins_after_the_deadline_of_a_query_in_it() -> None:
    arrivals_s = {"a": np.array(evenly(400.0, 0.0, 3.0))}
    system = System(ONE, ProteusPlanner(ONE), plan_for(20.0), AdaptiveBatching(), drop_late=True)
    record = play(system, BED, arrivals_s, load_s=1.0).record
    answered = record.batch >= 0
    assert 0 < np.count_nonzero(answered) < len(answered)
    assert (record.batches.launched_s[record.batch[answered]] <= record.deadline_s[answered]).all()


def test_endpoints_may_have_fewer_variants_than_the_testbed() -> None:
    (whole,) = ONE.endpoints
    lesser = replace(ONE, endpoints=(replace(whole, candidates={"cpu": whole.candidates["cpu"][:1]}),))
    initial = ProteusPlanner(lesser).plan(Observation(0.0, {"a": 20.0}, workers_of(BED.workers), {}))
    assert isinstance(initial, ClusterPlan)
    system = System(lesser, ProteusPlanner(lesser), initial, AdaptiveBatching())
    record = play(system, BED, {"a": np.array(evenly(20.0, 0.0, 5.0))}, load_s=1.0).record
    assert (record.batches.accuracy == 0.8).all()
    assert (record.batch >= 0).all()

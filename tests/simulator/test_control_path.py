"""Plans that change in virtual time, by hand: reports at 1, 2, ... s, instants that floats hold exactly."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from autoscaler.cluster.cluster import Endpoint
from autoscaler.cluster.observation import Statistics
from autoscaler.cluster.plan import NoPlan
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import MovingMaximum
from autoscaler.loop.control_loop import ControlLoop
from catalog.errors import ConfigError
from control_scene import FAST, GOOD, NO_ANSWER, TIMES, Scene, Scripted, cluster_plan, ran, to_good
from dispatch.selection.policy import Candidate
from simulator.control_path import ControlPath, ControlTimes
from simulator.host import Host
from simulator.latency import PlannedLatency

# -- when a plan is in force ----------------------------------------------------------------------------------


def test_a_plan_is_in_force_when_it_was_solved_and_loaded_and_the_old_one_serves_until_then() -> None:
    record, control = to_good().play(e=[0.0, 2.0, 2.5, 3.0, 3.25, 3.5, 4.5])
    # asked for at 2, solved at 2.5, loaded at 3.5; at 3.5 it comes before the query
    assert ran(record) == [
        *[(at_s, "fast") for at_s in (0.0, 2.0, 2.5, 3.0, 3.25)],
        *[(at_s, "good") for at_s in (3.5, 4.5)],
    ]
    assert [(change.asked_s, change.in_force_s, change.loading) for change in control.changes[:2]] == [
        (0.0, 0.0, ()),
        (2.0, 3.5, ("w0",)),
    ]
    assert [change.reason for change in control.changes[:2]] == ["the initial plan", "the interval is over"]


def test_a_batch_that_runs_when_the_plan_comes_ends_on_its_old_variant() -> None:
    record, _ = to_good().play(e=[3.4375, 3.4375])
    assert ran(record) == [(3.4375, "fast"), (3.5625, "good")]
    assert record.batches.done_s.tolist() == [3.5625, 3.8125]


def test_a_batch_that_is_done_when_the_plan_comes_is_first_and_the_worker_goes_on_with_what_it_held() -> None:
    record, _ = to_good().play(e=[3.375, 3.4375, 3.4375])
    assert ran(record) == [(3.375, "fast"), (3.5, "fast"), (3.625, "good")]


def test_without_make_before_break_a_worker_that_loads_holds_nothing() -> None:
    times = ControlTimes(1.0, 0.5, 1.0, make_before_break=False)
    record, _ = to_good(times=times).play(e=[2.25, 2.4375, 2.4375, 3.0, 3.75])
    # unloaded at 2.5, while its batch goes on; what waits is served when it has loaded, at 3.5
    assert ran(record) == [(2.25, "fast"), (2.4375, "fast"), (3.5, "good"), (3.75, "good"), (4.0, "good")]


def test_while_one_worker_loads_the_others_take_its_queue() -> None:
    times = ControlTimes(1.0, 0.5, 1.0, make_before_break=False)
    scene = Scene(Scripted([cluster_plan(w0="good", w1="fast")]), cluster_plan(w0="fast", w1="fast"), times=times)
    record, control = scene.play(2, e=[2.4375] * 4)
    assert control.changes[1].loading == ("w0",)
    assert [record.batches.workers[w] for w in record.batches.worker] == ["w0", "w1", "w1", "w1"]


def test_a_plan_that_loads_nothing_is_in_force_when_it_is_solved() -> None:
    scene = Scene(Scripted([cluster_plan(w1="fast")]), cluster_plan(w0="fast", w1="fast"))
    record, control = scene.play(2, e=[2.25, 2.5])
    assert (control.changes[1].in_force_s, control.changes[1].loading) == (2.5, ())
    assert [record.batches.workers[w] for w in record.batches.worker] == ["w0", "w1"]


def test_what_shares_no_worker_with_those_that_load_switches_when_the_plan_arrives() -> None:
    own = {"e": (FAST, GOOD), "f": (replace(FAST, variant="quick"),)}
    scene = Scene(
        Scripted([cluster_plan(w0="good", w1="quick")]),
        cluster_plan(w0="fast", w1="quick", w2="quick"),
        endpoints=("e", "f"),
        own=own,
    )
    record, control = scene.play(3, e=[2.75, 3.5], f=[2.25, 2.25, 2.75, 2.75, 3.5, 3.5])
    assert control.changes[1].loading == ("w0",)  # asked for at 2, there at 2.5, in force at 3.5
    assert [variant for _, variant in ran(record) if variant != "quick"] == ["fast", "good"]
    names = [record.batches.workers[worker] for worker in record.batches.worker]
    assert sorted(names) == ["w0", "w0", "w1", "w1", "w1", "w1", "w1", "w2"]


def test_no_plan_is_asked_for_while_one_is_under_way() -> None:
    _, control = to_good(interval_s=1.0, times=ControlTimes(1.0, 2.5, 1.0)).play(e=[0.0, 8.5])
    # from 1 to 4.5, then with nothing to load from 5 to 7.5, and from 8
    assert [(change.asked_s, change.in_force_s) for change in control.changes] == [
        (0.0, 0.0),
        (1.0, 4.5),
        (5.0, 7.5),
        (8.0, 10.5),
    ]


def test_no_answer_leaves_the_plan_and_the_next_interval_asks_again() -> None:
    scene = to_good(planner=Scripted([NO_ANSWER, cluster_plan(w0="good")]), interval_s=1.0)
    record, control = scene.play(e=[1.75, 3.25, 3.5])
    assert [(c.asked_s, isinstance(c.plan, NoPlan), c.in_force_s) for c in control.changes[:3]] == [
        (0.0, False, 0.0),
        (1.0, True, None),
        (2.0, False, 3.5),
    ]
    assert [variant for _, variant in ran(record)] == ["fast", "fast", "good"]


def test_a_plan_that_takes_no_time_serves_the_query_of_the_same_instant() -> None:
    record, control = to_good(times=ControlTimes(1.0, 0.0, 0.0)).play(e=[1.875, 2.0])
    assert ran(record) == [(1.875, "fast"), (2.0, "good")]
    assert control.changes[1].in_force_s == 2.0


def test_the_run_ends_with_the_last_batch_and_plans_no_further() -> None:
    _, control = to_good(interval_s=1.0, times=ControlTimes(1.0, 5.0, 1.0)).play(e=[0.5, 1.5])
    assert [(change.asked_s, change.in_force_s) for change in control.changes] == [(0.0, 0.0), (1.0, 7.0)]
    assert control.plan.version == 1


def test_the_control_path_goes_on_while_something_waits() -> None:
    scene = to_good(times=ControlTimes(1.0, 0.5, 1.0, make_before_break=False))
    record, _ = scene.play(e=[2.75])
    assert ran(record) == [(3.5, "good")], "the query waits for the plan; it comes after the last arrival"


# -- what the planner sees ------------------------------------------------------------------------------------


def test_the_planner_sees_the_workers_and_what_they_hold() -> None:
    scene = to_good(interval_s=1.0)
    scene.play(e=[0.0, 3.5])
    assert [(seen.now_s, seen.devices, dict(seen.held)) for seen in scene.planner.seen] == [
        (1.0, {"w0": "cpu"}, {"w0": frozenset(["fast"])}),
        (3.0, {"w0": "cpu"}, {"w0": frozenset(["good"])}),
    ]


def test_reports_count_arrivals_up_to_their_instant_and_violations_when_they_are_known() -> None:
    scene = to_good(interval_s=inf, slo_s=0.25, endpoints=("e", "f"))
    scene.play(e=[0.0, 0.0, 0.0, 0.9375, 0.9375, 0.9375, 1.0], f=[2.5])
    # on time at .125 and .25, late at .375; on time at 1.0625 and 1.1875, late at 1.3125 (from .9375) and 1.4375
    assert scene.demand.reports == [
        Statistics(0.0, 1.0, {"e": 6, "f": 0}, {"e": 1}),
        Statistics(1.0, 2.0, {"e": 1, "f": 0}, {"e": 2}),
    ]


def test_refused_queries_are_reported_as_violations() -> None:
    scene = to_good(interval_s=inf, max_queued_rows=1)
    record, _ = scene.play(e=[0.0, 0.0, 0.0, 0.0, 1.5])
    assert scene.demand.reports == [Statistics(0.0, 1.0, {"e": 4}, {"e": 2}, refused={"e": 2})]
    assert (record.batch < 0).tolist() == [False, False, True, True, False]


def test_a_burst_brings_a_plan_before_the_interval_is_over() -> None:
    loop = ControlLoop(30.0, MovingMaximum(), BurstTrigger(), cluster_plan(w0="fast"))
    scene = to_good()
    control = ControlPath(loop, scene.planner, scene.serving, {"w0": "cpu"}, TIMES)
    host = Host(control.plan, {"w0": "cpu"}, PlannedLatency(*control.plan.endpoints.values()), control)
    record = host.run({"e": np.arange(1.0, 6.0, 0.0625)})
    assert (control.changes[1].asked_s, control.changes[1].in_force_s) == (2.0, 3.5)
    assert {variant for at_s, variant in ran(record) if at_s > 3.5} == {"good"}


# -- what is refused ------------------------------------------------------------------------------------------


def test_a_plan_with_a_worker_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the plan has workers w7, which are not there"):
        Scene(Scripted([cluster_plan(w0="fast", w7="good")]), cluster_plan(w0="fast")).play(e=[0.0, 3.0])


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [({"report_s": 0.0}, "report_s is 0"), ({"solve_s": -1.0}, "solve_s is -1"), ({"load_s": inf}, "load_s is inf")],
)
def test_times_that_cannot_be_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        ControlTimes(**wrong)


def test_batches_take_the_time_of_the_cluster_s_candidates_though_plans_cut_them() -> None:
    whole = Candidate("good", 1.0, (0.0, 0.25, 0.5))
    latency = PlannedLatency(Endpoint("e", 1.0, {"cpu": (whole,)}))
    assert [latency.batch_s("cpu", "good", rows) for rows in (1, 2)] == [0.25, 0.5]

"""When a plan is due: histories of reports, by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from autoscaler.cluster.observation import Statistics
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.demand.burst import BurstTrigger
from autoscaler.loop.control_loop import ControlLoop
from autoscaler_scene import held, workers
from dispatch.worker_info import workers_of


@dataclass
class Told:
    """An estimate that the test sets."""

    qps: dict[str, float]
    heard: list[float] = field(default_factory=list)

    def on_statistics(self, statistics: Statistics) -> None:
        self.heard.append(statistics.end_s)

    def demand_qps(self) -> Mapping[str, float]:
        return self.qps


NOTHING = NoPlan(SolveReport(Status.NO_ANSWER, None, 1.0))


def plan(qps: float) -> ClusterPlan:
    load = {"a": qps}
    return ClusterPlan(
        demand_qps=load, served_qps=load, capacity_qps=load, report=SolveReport(Status.OPTIMAL, 0.0, 0.0)
    )


def report(end_s: float, arrived: int = 0) -> Statistics:
    return Statistics(end_s - 1.0, end_s, {"a": arrived}, {})


def due(loop: ControlLoop, until_s: int, *, at_once: bool = True, first_s: int = 1) -> list[int]:
    """The seconds at which a plan is asked for, where each is answered at once."""
    found = []
    for second in range(first_s, until_s + 1):
        if loop.on_statistics(report(float(second))) is not None:
            found.append(second)
            if at_once:
                loop.on_plan(NOTHING)
    return found


def test_plans_are_due_at_their_interval() -> None:
    assert due(ControlLoop(30.0, Told({}), None, plan(0.0)), 95) == [30, 60, 90]


def test_rounding_does_not_put_a_plan_off_by_a_report() -> None:
    loop = ControlLoop(0.3, Told({}), None, plan(0.0))
    assert [loop.on_statistics(report(end_s)) is not None for end_s in (0.1, 0.2, 0.1 + 0.2 - 1e-12)][-1]


def test_without_intervals_and_a_trigger_nothing_is_ever_due() -> None:
    assert due(ControlLoop(inf, Told({"a": 1e9}), None, plan(0.0)), 1000) == []


def test_no_second_plan_is_asked_for_while_one_is_under_way() -> None:
    loop = ControlLoop(10.0, Told({}), None, plan(0.0))
    assert due(loop, 25, at_once=False) == [10]
    loop.on_plan(NOTHING)
    assert due(loop, 40, first_s=26) == [26, 30, 40]  # late once, and back in step


def test_a_burst_is_a_reason_between_intervals_and_does_not_move_them() -> None:
    told = Told({"a": 100.0})
    loop = ControlLoop(10.0, told, BurstTrigger(), plan(100.0))
    assert loop.on_statistics(report(1.0, 100)) is None
    told.qps = {"a": 106.0}
    assert loop.on_statistics(report(2.0, 106)) == "a has 106 queries/s, the plan has room for 105"
    assert loop.on_statistics(report(3.0, 106)) is None  # one is under way
    loop.on_plan(plan(106.0))
    assert loop.on_statistics(report(4.0, 106)) is None
    assert [loop.on_statistics(report(float(second), 106)) for second in range(5, 11)][-1] == "the interval is over"


def test_a_plan_that_came_is_in_force_and_none_leaves_the_one_before() -> None:
    loop = ControlLoop(10.0, Told({}), None, plan(1.0))
    loop.on_plan(NOTHING)
    assert loop.plan == plan(1.0)
    loop.on_plan(plan(2.0))
    assert loop.plan == plan(2.0)


def test_the_estimate_hears_every_report_also_while_a_plan_is_under_way() -> None:
    told = Told({})
    due(ControlLoop(2.0, told, None, plan(0.0)), 5, at_once=False)
    assert told.heard == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_an_observation_has_the_estimate_and_what_the_host_says_of_its_workers() -> None:
    loop = ControlLoop(10.0, Told({"a": 7.5}), None, plan(0.0))
    seen = loop.observation(3.25, workers_of(workers(cpu=1)), held(cpu_0="v"))
    assert (seen.now_s, seen.demand_qps, seen.devices) == (3.25, {"a": 7.5}, {"cpu-0": "cpu"})
    assert seen.held == {"cpu-0": {"v"}}


def strained(end_s: float) -> Statistics:
    return Statistics(end_s - 1.0, end_s, {"a": 100, "b": 100}, {"a": 50})


def test_violations_within_what_the_plan_has_room_for_make_the_next_plan_reckon_with_more() -> None:
    loop = ControlLoop(30.0, Told({"a": 80.0, "b": 0.0}), BurstTrigger(lull=0.9), plan(100.0))
    asked = [loop.on_statistics(strained(float(second))) for second in range(1, 3)]
    assert asked == ["50% of a in violation", None]
    assert loop.observation(2.0, {}, {}).demand_qps == {"a": 100.0, "b": 0.0}
    loop.on_plan(plan(120.0))
    asked = [loop.on_statistics(strained(float(second))) for second in range(3, 8)]
    assert asked == [None, None, None, None, "50% of a in violation"]  # what was left of the plan before does not count
    for _ in range(10):
        loop.on_plan(plan(200.0))
        for _ in range(5):
            loop.on_statistics(strained(8.0))
    assert loop.observation(8.0, {}, {}).demand_qps == {"a": 160.0, "b": 0.0}  # twice the load at most


def test_caution_wears_off_from_interval_to_interval() -> None:
    loop = ControlLoop(10.0, Told({"a": 80.0}), BurstTrigger(lull=0.9), plan(100.0))
    loop.on_statistics(strained(1.0))
    loop.on_plan(plan(100.0))
    assert loop.on_statistics(report(10.0, 80)) == "the interval is over"
    assert loop.observation(10.0, {}, {}).demand_qps == {"a": 80.0}


def test_who_is_shed_anyway_is_not_planned_for_with_more() -> None:
    short = replace(plan(100.0), served_qps={"a": 70.0})
    loop = ControlLoop(30.0, Told({"a": 80.0}), BurstTrigger(lull=0.9), short)
    assert loop.on_statistics(strained(1.0)) is None
    assert loop.observation(1.0, {}, {}).demand_qps == {"a": 80.0}


def test_something_other_than_load_has_its_plan_at_once() -> None:
    loop = ControlLoop(10.0, Told({}), BurstTrigger(), plan(0.0))
    assert loop.ask("worker w1 is gone") == "worker w1 is gone"
    assert loop.on_statistics(report(10.0)) is None  # one is under way
    loop.on_plan(NOTHING)
    assert loop.on_statistics(report(11.0)) == "the interval is over"


def test_reasons_given_while_a_plan_is_under_way_are_the_next_ones_without_doubles() -> None:
    loop = ControlLoop(10.0, Told({"a": 1e9}), BurstTrigger(), plan(1.0))
    loop.ask("worker w1 is gone")
    assert [loop.ask(reason) for reason in ("w2 came", "w3 came", "w2 came")] == [None] * 3
    assert loop.on_statistics(report(1.0, 100)) is None
    loop.on_plan(NOTHING)
    assert loop.on_statistics(report(2.0, 100)) == "w2 came; w3 came"
    loop.on_plan(NOTHING)
    assert loop.on_statistics(report(3.0)) is None, "reasons are given once"


def test_a_reason_that_follows_a_plan_before_the_next_report_comes_with_those_that_wait() -> None:
    loop = ControlLoop(10.0, Told({}), None, plan(1.0))
    loop.ask("w1 came")
    loop.ask("w2 came")
    loop.on_plan(NOTHING)
    assert loop.ask("w3 came") == "w2 came; w3 came"


def test_an_interval_that_ended_meanwhile_is_not_due_a_second_time() -> None:
    loop = ControlLoop(10.0, Told({}), None, plan(1.0))
    loop.ask("w1 came")
    loop.ask("w2 came")
    loop.on_plan(NOTHING)
    assert loop.on_statistics(report(10.0)) == "w2 came; the interval is over"
    loop.on_plan(NOTHING)
    assert due(loop, 25, first_s=11) == [20]


def test_violations_that_no_larger_demand_cures_ask_for_no_more_plans() -> None:
    loop = ControlLoop(30.0, Told({"a": 80.0, "b": 0.0}), BurstTrigger(lull=0.9), plan(100.0))
    asked = []
    for second in range(1, 21):
        reason = loop.on_statistics(strained(float(second)))
        if reason is not None:
            asked.append(second)
            loop.on_plan(plan(400.0))
    assert asked == [1, 6, 11, 16], "1.25, 1.56, 1.95 and 2 times the load"
    assert [loop.on_statistics(strained(20.0 + second)) for second in range(1, 9)] == [None] * 8

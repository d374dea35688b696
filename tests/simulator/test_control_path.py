"""Plans that change in virtual time, by hand: reports at 1, 2, ... s, instants that floats hold exactly."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from autoscaler.burst import BurstTrigger
from autoscaler.cluster import Endpoint
from autoscaler.cluster_plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.control_loop import ControlLoop
from autoscaler.demand import MovingMaximum
from autoscaler.observation import Observation, Statistics
from catalog.errors import ConfigError
from dispatch.balancing.shortest_queue import ShortestQueue
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.control_path import ControlPath, ControlTimes
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.record import Record
from workload.rate import RateSchedule
from workload.renewal import Poisson

FAST = Candidate("fast", 0.5, (0.0, 0.125))
GOOD = Candidate("good", 1.0, (0.0, 0.25))
TIMES = ControlTimes(report_s=1.0, solve_s=0.5, load_s=1.0)


def cluster_plan(**held: str) -> ClusterPlan:
    """Workers that hold one variant each."""
    report = SolveReport(Status.HEURISTIC, None, 0.0)
    return ClusterPlan({w: frozenset([v]) for w, v in held.items()}, {}, {}, {}, {}, {}, {}, report)


NO_ANSWER = NoPlan(SolveReport(Status.NO_ANSWER, None, 1.0))


@dataclass
class Scripted:
    """Plans in the order in which they are to be given; the last one for ever."""

    plans: list[ClusterPlan | NoPlan]
    name: str = "scripted"
    seen: list[Observation] = field(default_factory=list)

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        self.seen.append(observation)
        return self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]


@dataclass
class Recorded:
    """A demand estimate that keeps what it is told."""

    reports: list[Statistics] = field(default_factory=list)

    def on_statistics(self, statistics: Statistics) -> None:
        self.reports.append(statistics)

    def demand_qps(self) -> Mapping[str, float]:
        return {}


@dataclass
class Scene:
    """Endpoints on workers of one device type, planned for by script at intervals."""

    planner: Scripted
    initial: ClusterPlan
    interval_s: float = 2.0
    times: ControlTimes = TIMES
    slo_s: float = 10.0
    drop_late: bool = False
    max_queued_rows: int = 100
    endpoints: tuple[str, ...] = ("e",)
    demand: Recorded = field(default_factory=Recorded)

    def serving(self, plan: ClusterPlan, version: int) -> Plan:
        endpoints = [
            EndpointPlan(
                name,
                self.slo_s,
                self.drop_late,
                self.max_queued_rows,
                {"cpu": (FAST, GOOD)},
                GreedySelection(),
                ShortestQueue(),
            )
            for name in self.endpoints
        ]
        return Plan(version, {endpoint.name: endpoint for endpoint in endpoints})

    def play(self, workers: int = 1, **arrivals_s: list[float] | NDArray[np.float64]) -> tuple[Record, ControlPath]:
        names = {f"w{number}": "cpu" for number in range(workers)}
        loop = ControlLoop(self.interval_s, self.demand, None, self.initial)
        control = ControlPath(loop, self.planner, self.serving, names, self.times)
        host = Host(control.plan, names, PlannedLatency(*control.plan.endpoints.values()), control)
        return host.run({name: np.asarray(each, dtype=np.float64) for name, each in arrivals_s.items()}), control


def ran(record: Record) -> list[tuple[float, str]]:
    """Instant of launch and variant of every batch, in the order in which they were done."""
    batches = record.batches
    return [(at_s, batches.variants[v]) for at_s, v in zip(batches.launched_s, batches.variant, strict=True)]


def to_good(**changes: Any) -> Scene:
    return replace(Scene(Scripted([cluster_plan(w0="good")]), cluster_plan(w0="fast")), **changes)


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
    assert [(seen.now_s, dict(seen.workers), dict(seen.held)) for seen in scene.planner.seen] == [
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
    assert scene.demand.reports == [Statistics(0.0, 1.0, {"e": 4}, {"e": 2})]
    assert (record.batch < 0).tolist() == [False, False, True, True, False]


def test_a_burst_brings_a_plan_before_the_interval_is_over() -> None:
    loop = ControlLoop(30.0, MovingMaximum(), BurstTrigger(), cluster_plan(w0="fast"))
    scene = to_good()
    control = ControlPath(loop, scene.planner, scene.serving, {"w0": "cpu"}, TIMES)
    host = Host(control.plan, {"w0": "cpu"}, PlannedLatency(*control.plan.endpoints.values()), control)
    record = host.run({"e": np.arange(1.0, 6.0, 0.0625)})
    assert (control.changes[1].asked_s, control.changes[1].in_force_s) == (2.0, 3.5)
    assert {variant for at_s, variant in ran(record) if at_s > 3.5} == {"good"}


# -- over random histories ------------------------------------------------------------------------------------


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
    plan = EndpointPlan("e", 0.5, False, 100, {"cpu": (FAST,)}, GreedySelection(), ShortestQueue())
    plain = Host(Plan(1, {"e": plan}), {"w0": "cpu", "w1": "cpu"}, PlannedLatency(plan)).run({"e": arrivals_s})
    assert controlled.done_s.tobytes() == plain.done_s.tobytes()


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

"""What a router counts between two reports."""

from dataclasses import replace

import pytest

from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from deployments.messages.control import RouterState
from deployments.router.observing.meter import RouterMeter
from dispatch.commands import BatchDone
from dispatch.query import Batch, Job, Query, StageKey
from router_scene import routing_table

STANDING = RouterState("r1", 3, frozenset({"w1"}))
DIRECTIVE = replace(
    routing_table(1, {"w1": ("double",)}),
    profiled_s={("pool", "double"): (0.0, 0.010, 0.016)},
    transport_s={"pool": 0.002},
)


def served(run_s: float, way_s: float = 0.002, rows: int = 1, worker: str = "w1", variant: str = "double") -> BatchDone:
    jobs = tuple(Job(number, Query(number, "digits", 0.0, 1.0), 1.0, 1, {}) for number in range(rows))
    batch = Batch(1, worker, StageKey("digits"), variant, 0.9, jobs, rows, 50.0)
    return BatchDone(batch, [{}] * rows, run_s, 50.0 + run_s + way_s)


@pytest.fixture
def meter() -> RouterMeter:
    made = RouterMeter()
    made.follow(DIRECTIVE)
    return made


def bins(counts: tuple[int, ...]) -> dict[int, int]:
    assert len(counts) == BIN_COUNT
    return {number: count for number, count in enumerate(counts) if count}


def test_everything_is_reported_once(meter: RouterMeter) -> None:
    for endpoint in ("digits", "digits", "other"):
        meter.on_arrival(endpoint, 1)
    meter.on_violations("other", 1)
    meter.on_batch(served(0.010))
    report = meter.report(17, STANDING)
    assert (report.router_state, report.window) == (STANDING, 17)
    assert (report.arrived, report.violated) == ({"digits": 2, "other": 1}, {"other": 1})
    assert report.runs.keys() == {("pool", "double", "w1")}
    meter.on_arrival("digits", 1)
    following = meter.report(18, STANDING)
    assert (following.arrived, following.violated, following.runs, following.transport) == ({"digits": 1}, {}, {}, {})
    assert report.arrived["digits"] == 2, "what was reported stays as it was"


def test_a_run_is_compared_with_the_profile_of_as_many_rows(meter: RouterMeter) -> None:
    for run_s, rows in ((0.010, 1), (0.016, 2), (0.032, 2)):
        meter.on_batch(served(run_s, rows=rows))
    assert bins(meter.report(1, STANDING).runs["pool", "double", "w1"]) == {bin_of(1.0): 2, bin_of(2.0): 1}


def test_the_rest_of_the_way_is_compared_with_what_was_reckoned_with(meter: RouterMeter) -> None:
    meter.on_batch(served(0.010, way_s=0.0041))
    meter.on_batch(served(0.010, way_s=-0.001))
    counted = bins(meter.report(1, STANDING).transport["pool"])
    assert counted == {bin_of(2.05): 1, 0: 1}, "clocks of two machines may make a way shorter than nothing"


def test_what_has_no_profile_is_not_compared(meter: RouterMeter) -> None:
    meter.on_batch(served(0.010, worker="w2"))
    meter.on_batch(served(0.010, variant="triple"))
    meter.on_batch(served(0.010, rows=3))
    report = meter.report(1, STANDING)
    assert report.runs == {}
    assert sum(report.transport["pool"]) == 2, "the way is that of the pool, whatever ran"


def test_nothing_is_compared_with_a_way_of_no_length() -> None:
    meter = RouterMeter()
    meter.on_batch(served(0.010))
    meter.follow(replace(DIRECTIVE, transport_s={"pool": 0.0}))
    meter.on_batch(served(0.010))
    report = meter.report(1, STANDING)
    assert report.transport == {}
    assert sum(report.runs["pool", "double", "w1"]) == 1, "nor is anything before the first routing table"


def test_a_newer_directive_is_what_batches_are_compared_with(meter: RouterMeter) -> None:
    meter.follow(replace(DIRECTIVE, profiled_s={("pool", "double"): (0.0, 0.020)}))
    meter.on_batch(served(0.010))
    assert bins(meter.report(1, STANDING).runs["pool", "double", "w1"]) == {bin_of(0.5): 1}


def test_rows_are_counted_by_stage_where_there_are_several(meter: RouterMeter) -> None:
    for stage, rows in (("double", 2), ("triple", 1), ("double", 1)):
        done = served(0.010, rows=rows)
        meter.on_batch(done._replace(batch=done.batch._replace(stage=StageKey("digits", stage))))
    meter.on_batch(served(0.010))
    report = meter.report(1, STANDING)
    assert report.stage_rows == {StageKey("digits", "double"): 3, StageKey("digits", "triple"): 1}
    assert not meter.report(2, STANDING).stage_rows


BESIDE = replace(
    DIRECTIVE,
    workers={
        **DIRECTIVE.workers,
        "w1": replace(DIRECTIVE.workers["w1"], slowdowns={"double": 1.6}),
        "alone": DIRECTIVE.workers["w1"],
    },
)


def test_runs_beside_others_are_compared_by_worker_with_the_predicted_slowdown_and_are_no_drift() -> None:
    meter = RouterMeter()
    meter.follow(BESIDE)
    for run_s, worker in ((0.016, "w1"), (0.032, "w1"), (0.010, "alone")):
        meter.on_batch(served(run_s, worker=worker))
    report = meter.report(1, STANDING)
    assert report.plan_version == BESIDE.plan_version
    assert report.worker_runs.keys() == {("w1", "double")}
    assert bins(report.worker_runs["w1", "double"]) == {bin_of(1.0): 1, bin_of(2.0): 1}
    assert bins(report.runs["pool", "double", "alone"]) == {bin_of(1.0): 1}, "of the one that is alone"
    assert meter.report(2, STANDING).worker_runs == {}


def test_what_was_measured_under_one_plan_is_not_reported_of_the_next() -> None:
    meter = RouterMeter()
    meter.follow(BESIDE)
    meter.on_batch(served(0.016))
    meter.follow(replace(BESIDE, version=2))
    assert meter.report(1, STANDING).worker_runs.keys() == {("w1", "double")}, "the same plan, told again"
    meter.on_batch(served(0.016))
    meter.follow(replace(BESIDE, version=3, plan_version=2))
    report = meter.report(2, STANDING)
    assert (report.worker_runs, report.plan_version) == ({}, 2)


def test_the_wait_behind_another_batch_is_no_part_of_the_way(meter: RouterMeter) -> None:
    meter.on_batch(served(0.010, way_s=0.0091)._replace(waited_s=0.005))
    assert bins(meter.report(1, STANDING).transport["pool"]) == {bin_of(2.05): 1}

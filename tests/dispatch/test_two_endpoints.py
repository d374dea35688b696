"""One worker, two endpoints, one of which waits: what must not go wrong between them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dispatch.commands import WakeAt
from dispatch.plan import Plan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Choice, Hold, QueueView
from dispatch_scene import dispatcher, endpoint, finish, launched, query
from simulator.host import Host
from simulator.latency import PlannedLatency


@dataclass(frozen=True)
class Patient:
    """Waits until 20 ms before the deadline, whoever may come."""

    name: ClassVar[str] = "patient"

    def choose(self, view: QueueView) -> Choice | Hold:
        until_s = view.earliest_deadline_s - 0.020
        return Choice("fast", view.rows) if view.now_s >= until_s - 1e-9 else Hold(until_s)


@dataclass(frozen=True)
class Sociable:
    """Waits for a second row."""

    name: ClassVar[str] = "sociable"

    def choose(self, view: QueueView) -> Choice | Hold:
        return Choice("fast", view.rows) if view.rows > 1 else Hold(view.now_s + 0.05)


def test_a_hold_that_a_launch_overtook_does_not_wake_the_host_again_and_again() -> None:
    d = dispatcher(endpoint("calm", selection=Patient()), endpoint("quick"), workers=("w1",))
    assert d.on_arrival(query(1, name="calm"), 0.0) == [WakeAt(0.08)]
    (batch,) = launched(d.on_arrival(query(2, name="quick"), 0.079))
    assert d.on_timer(0.08) == [], "the worker is busy: there is nothing to wake for"
    (late,) = launched(finish(d, batch, 0.119))
    assert [job.query.id for job in late.jobs] == [1]


def test_the_simulator_comes_to_an_end_with_a_hold_on_a_busy_worker() -> None:
    calm, quick = endpoint("calm", selection=Patient()), endpoint("quick", selection=GreedySelection())
    host = Host(Plan(1, {"calm": calm, "quick": quick}), {"w1": "cpu"}, PlannedLatency(calm, quick))
    record = host.run({"calm": np.array([0.0, 0.5]), "quick": np.array([0.079, 0.55])})
    assert np.all(record.batch >= 0)


def test_a_query_of_several_rows_counts_as_so_much_load() -> None:
    plan = endpoint("digits")
    d = dispatcher(plan, workers=("w1",))
    for number in range(5):
        d.on_arrival(query(number, number * 0.01, rows=4), number * 0.01)
    assert plan.stage.load.load_qps(0.05) == 5 * 4 / 0.05


def test_a_job_that_must_run_alone_is_not_kept_waiting_for_company() -> None:
    d = dispatcher(endpoint("digits", selection=Sociable()), workers=("w1",))
    assert launched(d.on_arrival(query(1), 0.0)) == []
    (batch,) = launched(d.on_arrival(query(2), 0.001))
    (again,) = launched(d.on_failed("w1", batch.id, "boom", 0.002))
    assert (again.variant, [job.query.id for job in again.jobs]) == ("slow", [1])


@pytest.mark.parametrize("drop_late", [False, True])
def test_an_endpoint_whose_load_is_too_much_makes_no_other_one_late(drop_late: bool) -> None:
    busy, calm = endpoint("busy", drop_late=drop_late, max_queued_rows=10_000), endpoint("calm", drop_late=drop_late)
    host = Host(Plan(1, {"busy": busy, "calm": calm}), {"w1": "cpu"}, PlannedLatency(busy, calm))
    rng = np.random.default_rng(1)
    times_s = {"busy": np.sort(rng.uniform(0.0, 20.0, 26_000)), "calm": np.sort(rng.uniform(0.0, 20.0, 100))}
    record = host.run(times_s)
    late = record.done_s > record.deadline_s
    busy_late, calm_late = (late[record.endpoint == list(record.endpoints).index(name)].mean() for name in times_s)
    assert busy_late > 0.2
    assert calm_late < 0.02

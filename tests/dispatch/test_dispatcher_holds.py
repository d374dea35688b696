"""A policy that holds a batch back, and when it is asked again."""

from dataclasses import dataclass

import pytest

from dispatch.commands import WakeAt
from dispatch.plan import Plan
from dispatch.selection.policy import Hold, QueueView
from dispatch_scene import Patient, dispatcher, endpoint, finish, launched, query


def test_a_policy_that_holds_is_asked_again_when_the_hold_is_due() -> None:
    d = dispatcher(endpoint(selection=Patient(rows=2)))
    assert d.on_arrival(query(1), 0.0) == [WakeAt(0.05)]
    assert d.queues.rows("digits") == 1
    (batch,) = launched(d.on_timer(0.05))
    assert [job.query.id for job in batch.jobs] == [1]


def test_a_policy_that_holds_is_asked_again_when_a_job_joins() -> None:
    d = dispatcher(endpoint(selection=Patient(rows=2)))
    d.on_arrival(query(1), 0.0)
    (batch,) = launched(d.on_arrival(query(2), 0.01))
    assert [job.query.id for job in batch.jobs] == [1, 2]
    finish(d, batch, 0.02)
    assert d.on_timer(0.05) == []


def test_the_timer_goes_on_to_the_next_hold_or_deadline() -> None:
    d = dispatcher(endpoint(selection=Patient(rows=9), drop_late=True), workers=("w1", "w2"))
    assert d.on_arrival(query(1, slo_s=0.1), 0.0) == [WakeAt(0.05)]
    assert d.on_arrival(query(2, slo_s=0.2), 0.0) == []
    commands = d.on_timer(0.05)
    assert [[job.query.id for job in batch.jobs] for batch in launched(commands)] == [[1]]
    assert commands[-1] == WakeAt(pytest.approx(0.15))


def test_a_timer_that_comes_early_is_set_again() -> None:
    d = dispatcher(endpoint(selection=Patient(rows=2)))
    d.on_arrival(query(1), 0.0)
    assert d.on_timer(0.049) == [WakeAt(0.05)]


def test_a_hold_of_one_endpoint_leaves_the_worker_to_another() -> None:
    d = dispatcher(endpoint("a", selection=Patient(rows=2)), endpoint("b"))
    d.on_arrival(query(1, name="a"), 0.0)
    (batch,) = launched(d.on_arrival(query(2, slo_s=0.9, name="b"), 0.0))
    assert batch.endpoint == "b"
    (held,) = launched(finish(d, batch, 0.06))
    assert held.endpoint == "a"


def test_a_new_plan_asks_again() -> None:
    d = dispatcher(endpoint(selection=Patient(rows=2)))
    d.on_arrival(query(1), 0.0)
    assert launched(d.apply(Plan(2, {"digits": endpoint()}), 0.01))


def test_a_hold_that_is_not_in_the_future_is_a_fault_of_the_policy() -> None:
    @dataclass(frozen=True)
    class Stuck:
        name: str = "stuck"

        def choose(self, view: QueueView) -> Hold:
            return Hold(view.now_s)

    with pytest.raises(ValueError, match=r"policy 'stuck' holds until 1\.0; it is 1\.0 already"):
        dispatcher(endpoint(selection=Stuck())).on_arrival(query(1, 1.0), 1.0)

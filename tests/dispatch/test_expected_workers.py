"""Queries that come before the first worker does: they wait, are bounded, and are refused where none comes."""

from math import inf

from catalog.errors import NoWorker, Saturated
from dispatch.commands import WakeAt
from dispatch.plan import Plan
from dispatch.worker_info import WorkerInfo
from dispatch_scene import answered, dispatcher, endpoint, finish, launched, query, rejected


def test_while_first_workers_are_expected_a_query_waits_beyond_its_deadline_and_is_answered() -> None:
    d = dispatcher(workers=())
    d.queues.expect_workers({"digits": 3.0})
    assert d.on_arrival(query(1, 1.0), 1.0) == [WakeAt(3.0)]
    assert d.on_arrival(query(2, 0.0), 1.0) == [], "its deadline has passed"
    assert rejected(d.on_timer(1.2)) == {}
    (batch,) = launched(d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast"], 2.0))
    commands = finish(d, batch, 2.1)
    (behind,) = launched(commands)
    assert [answered(commands), answered(finish(d, behind, 2.2))] == [[2], [1]]


def test_where_expected_workers_do_not_come_queries_are_refused_when_they_should_have() -> None:
    d = dispatcher(workers=())
    d.queues.expect_workers({"digits": 3.0})
    d.on_arrival(query(1, 1.0), 1.0)
    d.on_arrival(query(2, 2.0, slo_s=5.0), 2.0)
    commands = d.on_timer(3.0)
    assert rejected(commands) == {1: NoWorker}
    assert WakeAt(7.0) in commands
    assert d.on_arrival(query(3, 3.5), 3.5) == [WakeAt(3.6)]


def test_workers_that_are_not_expected_any_more_are_not_waited_for() -> None:
    d = dispatcher(workers=())
    d.queues.expect_workers({"digits": 3.0})
    d.on_arrival(query(1), 0.0)
    d.queues.expect_workers({"digits": -inf})
    assert WakeAt(0.1) in d.apply(Plan(2, {"digits": endpoint()}), 0.05)
    assert rejected(d.on_timer(0.1)) == {1: NoWorker}


def test_an_endpoint_that_drops_late_queries_does_so_while_workers_are_expected() -> None:
    d = dispatcher(endpoint(drop_late=True), workers=())
    d.queues.expect_workers({"digits": 3.0})
    assert d.on_arrival(query(1), 0.0) == [WakeAt(0.1)]
    assert rejected(d.on_timer(0.1)) == {1: NoWorker}


def test_what_waits_for_expected_workers_is_bounded() -> None:
    d = dispatcher(endpoint(max_queued_rows=2), workers=())
    d.queues.expect_workers({"digits": 3.0})
    refused = [rejected(d.on_arrival(query(number), 0.0)) for number in range(3)]
    assert refused == [{}, {}, {2: Saturated}]


def test_an_endpoint_that_lost_all_its_workers_expects_none() -> None:
    d = dispatcher()
    d.on_workers_lost(["w1"], 0.0)
    d.queues.expect_workers({"digits": 3.0, "unknown": 3.0})
    assert d.on_arrival(query(1), 0.0) == [WakeAt(0.1)]
    assert rejected(d.on_timer(0.1)) == {1: NoWorker}

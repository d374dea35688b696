"""Endpoints whose workers take batches from one central queue."""

import pytest

from catalog.errors import DeadlineMissed, NoWorker
from dispatch.balancing.bin_packing import BinPacking
from dispatch.commands import WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.worker_info import WorkerInfo
from dispatch_scene import answered, dispatcher, endpoint, finish, launched, query, rejected


def test_a_central_queue_fills_idle_workers_in_order_and_then_whoever_is_done_first() -> None:
    d = dispatcher(endpoint(balancing="central"), workers=("w2", "w1"))
    batches = [b for i in range(1, 5) for b in launched(d.on_arrival(query(i), 0.0))]
    assert [b.worker for b in batches] == ["w1", "w2"]
    assert d.queues.rows("digits") == 2
    (third,) = launched(finish(d, batches[1], 0.01))
    assert (third.worker, [job.query.id for job in third.jobs]) == ("w2", [3, 4])
    assert launched(finish(d, batches[0], 0.02)) == []


def test_a_central_queue_does_not_count_as_load_of_a_worker() -> None:
    d = dispatcher(endpoint(balancing="central"))
    for query_id in range(1, 4):
        d.on_arrival(query(query_id), 0.0)
    assert (d.queues.rows("digits"), d.workers["w1"].load.queued_rows) == (2, 0)


def test_a_central_queue_drops_late_queries_and_forgets_cancelled_ones() -> None:
    d = dispatcher(endpoint(balancing="central", drop_late=True))
    (batch,) = launched(d.on_arrival(query(1), 0.0))
    assert d.on_arrival(query(2), 0.0) == [WakeAt(0.1)]
    cancelled = query(3)
    d.on_arrival(cancelled, 0.0)
    d.on_cancel(cancelled)
    assert rejected(d.on_timer(0.1)) == {2: DeadlineMissed}
    assert answered(finish(d, batch, 0.2)) == [1]
    assert d.queues.rows("digits") == 0


def test_a_central_queue_waits_for_the_first_worker_and_survives_the_last() -> None:
    d = dispatcher(endpoint(balancing="central"), workers=())
    assert d.on_arrival(query(1), 0.0) == [WakeAt(0.1)]
    (batch,) = launched(d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast"], 0.01))
    d.on_arrival(query(2), 0.02)
    assert launched(d.on_workers_lost(["w1"], 0.03)) == []
    assert d.queues.rows("digits") == 2
    assert rejected(d.on_timer(0.12)) == {1: NoWorker, 2: NoWorker}
    assert answered(finish(d, batch, 0.2)) == []


@pytest.mark.parametrize(("before", "after"), [("central", "round_robin"), ("shortest_queue", "central")])
def test_a_plan_that_balances_otherwise_moves_what_waits(before: str, after: str) -> None:
    d = dispatcher(endpoint(balancing=before), workers=("w1", "w2"))
    batches = [b for i in range(1, 7) for b in launched(d.on_arrival(query(i), 0.0))]
    assert d.apply(Plan(2, {"digits": endpoint(balancing=after)}), 0.0) == []
    own_rows = [d.workers[worker].load.queued_rows for worker in ("w1", "w2")]
    assert own_rows == ([0, 0] if after == "central" else [2, 2])
    served = []
    while batches:
        commands = finish(d, batches.pop(), 0.01)
        served += answered(commands)
        batches += launched(commands)
    assert sorted(served) == [1, 2, 3, 4, 5, 6]


def test_bin_packing_fills_the_idle_worker_with_the_fewest_slots_and_leaves_the_same_ones_idle() -> None:
    small, large = Candidate("v", 0.9, (0.0, 0.01, 0.01)), Candidate("v", 0.9, (0.0, *[0.01] * 8))
    stage = StagePlan({"small": (small,), "large": (large,)}, GreedySelection(), BinPacking())
    d = Dispatcher(Plan(1, {"e": EndpointPlan.of_stage("e", stage, slo_s=1.0, max_queued_rows=100)}))
    for worker, device in (("a", "large"), ("b", "small"), ("c", "small")):
        d.on_worker_ready(worker, WorkerInfo(device), ["v"], 0.0)
    batches = [b for i in range(1, 4) for b in launched(d.on_arrival(query(i, slo_s=1.0, name="e"), 0.0))]
    assert [b.worker for b in batches] == ["b", "c", "a"]
    assert not launched(d.on_arrival(query(4, slo_s=1.0, name="e"), 0.0))
    (following,) = launched(finish(d, batches[0], 0.01))
    assert (following.worker, following.rows) == ("b", 1)
    for batch in (following, *batches[1:]):
        finish(d, batch, 0.02)
    assert [b.worker for b in launched(d.on_arrival(query(5, 0.03, slo_s=1.0, name="e"), 0.03))] == ["b"]

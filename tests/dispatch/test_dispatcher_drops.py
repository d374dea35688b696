"""A policy that gives queries up."""

from dataclasses import dataclass

import pytest

from catalog.errors import DeadlineMissed
from dispatch.balancing.registry import create_balancer
from dispatch.batch_maker import GIVEN_UP_S
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.nexus import EarlyDrop
from dispatch.commands import Reject
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.policy import Candidate, Choice, Drop, Hold, QueueView, SelectionPolicy
from dispatch.worker_info import WorkerInfo
from dispatch_scene import dispatcher, endpoint, finish, launched, query, rejected


@dataclass(frozen=True)
class Picky:
    """Gives up ``rows`` rows whenever more than that wait, holds for 5 ms where fewer do, else launches them."""

    rows: int
    name: str = "picky"

    def choose(self, view: QueueView) -> Choice | Hold | Drop:
        if view.rows > self.rows:
            return Drop(self.rows)
        return Choice("fast", view.rows) if view.rows == self.rows else Hold(view.now_s + 0.005)


def test_it_is_asked_again_at_once_until_it_launches() -> None:
    d = dispatcher(endpoint(selection=Picky(1)))
    (batch,) = launched(d.on_arrival(query(0), 0.0))
    for number in (3, 2, 1):
        d.on_arrival(query(number, slo_s=0.1 * number), 0.0)
    commands = finish(d, batch, 0.01)
    assert rejected(commands) == {1: DeadlineMissed, 2: DeadlineMissed}
    (batch,) = launched(commands)
    assert [job.query.id for job in batch.jobs] == [3]
    assert d.queues.rows("digits") == d.workers["w1"].load.queued_rows == 0


def test_a_worker_stays_idle_where_all_are_given_up_or_the_rest_is_held() -> None:
    d = dispatcher(endpoint(selection=Picky(2)))
    d.on_arrival(query(0), 0.0)
    (batch,) = launched(d.on_arrival(query(1), 0.0))
    for number in (2, 3, 4):
        d.on_arrival(query(number), 0.0)
    commands = finish(d, batch, 0.01)
    assert sorted(rejected(commands)) == [2, 3]
    assert launched(commands) == []
    assert d.queues.rows("digits") == 1
    assert d.workers["w1"].hold_s == pytest.approx(0.015)


def test_a_query_of_several_rows_is_refused_whole() -> None:
    d = dispatcher(endpoint(selection=Picky(1)))
    assert list(rejected(d.on_arrival(query(0, rows=3), 0.0))) == [0]
    assert d.queues.rows("digits") == 0


def test_the_client_reads_how_much_time_there_was() -> None:
    d = dispatcher(endpoint(selection=Picky(1)))
    (refusal,) = d.on_arrival(query(0, rows=2), 0.0)
    assert isinstance(refusal, Reject)
    assert str(refusal.error) == "the deadline, 100.0 ms away, could not be met any more after 0.0 ms in the queue"


def test_to_drop_nobody_is_a_fault_of_the_policy() -> None:
    with pytest.raises(ValueError, match="policy 'picky' drops 0 rows; it must be 1 or more"):
        dispatcher(endpoint(selection=Picky(0))).on_arrival(query(0), 0.0)


@pytest.mark.parametrize("policy", [EarlyDrop(), AdaptiveBatching()])
def test_a_worker_that_was_slow_for_a_while_is_tried_again_though_no_query_seems_to_be_in_time(
    policy: SelectionPolicy,
) -> None:
    run_s, way_s, slo_s = 0.020, 0.003, 0.050
    stage = StagePlan({"cpu": (Candidate("only", 0.9, (0.0, run_s + way_s)),)}, policy, create_balancer("round_robin"))
    plan = EndpointPlan.of_stage("digits", stage, slo_s=slo_s, max_queued_rows=100)
    d = Dispatcher(Plan(1, {"digits": plan}), LatencyEstimator(way_s))
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["only"], 0.0)

    def served(from_s: float, queries: int, took_s: float) -> list[bool]:
        found = []
        for number in range(queries):
            at_s = from_s + 0.1 * number
            (batch,) = launched(d.on_arrival(query(int(1e4 * at_s), at_s, slo_s), at_s)) or [None]
            if batch is not None:
                d.on_done("w1", batch.id, [{}], took_s, at_s + took_s + way_s)
            found.append(batch is not None)
        return found

    assert all(served(0.0, 20, run_s))
    assert not all(served(2.0, 20, 4 * run_s)), "four times slower, none can be in time"
    again = served(4.0, 100, run_s)
    tries = 0.1 * again.index(True)
    assert tries <= GIVEN_UP_S + 0.1
    assert all(again[-50:])

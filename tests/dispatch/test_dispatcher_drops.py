"""A policy that gives queries up."""

from dataclasses import dataclass

import pytest

from catalog.errors import DeadlineMissed
from dispatch.commands import Reject
from dispatch.selection.policy import Choice, Drop, Hold, QueueView
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

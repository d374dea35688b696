"""What all queries took together."""

import pytest

from deployments.router.observing.totals import Totals, joint_totals
from dispatch.commands import Answer, BatchDone
from dispatch.query import Batch, Query, StageKey


def answer(rows: int, arrival_s: float, launched_s: float, done_s: float, run_s: float) -> Answer:
    return Answer(Query(1, "digits", arrival_s, 99.0, rows), "v", 0.9, {}, rows, launched_s, done_s, run_s)


def batch(rows: int, run_s: float) -> BatchDone:
    return BatchDone(Batch(1, "w", StageKey("digits"), "v", 0.9, (), rows, 1.0), (), run_s, 2.0)


def some() -> Totals:
    totals = Totals()
    totals.on_batch(batch(3, 0.5))
    totals.on_batch(batch(3, 0.25))
    totals.on_batch(batch(1, 0.125))
    totals.on_answer(answer(2, 1.0, 1.5, 3.0, 0.5))
    totals.on_answer(answer(1, 2.0, 2.25, 4.0, 0.25))
    return totals


def test_queries_and_batches_add_up() -> None:
    assert some().to_record(10.0) == {
        "rows": 3,
        "batches": 3,
        "latency_s": 4.0,
        "queue_s": 0.75,
        "run_s": 0.75,
        "last_ago_s": 6.0,
        "by_batch_rows": {"1": {"batches": 1, "run_s": 0.125}, "3": {"batches": 2, "run_s": 0.75}},
    }
    assert Totals().to_record(10.0)["last_ago_s"] is None


def test_routers_add_up_and_the_newest_answer_is_that_of_all() -> None:
    other = Totals()
    other.on_batch(batch(12, 1.0))
    joint = joint_totals([some().to_record(10.0), other.to_record(9.0), Totals().to_record(0.0)])
    assert (joint["rows"], joint["batches"], joint["last_ago_s"]) == (3, 4, 6.0)
    assert list(joint["by_batch_rows"]) == ["1", "3", "12"]
    assert joint["by_batch_rows"]["12"] == {"batches": 1, "run_s": pytest.approx(1.0)}

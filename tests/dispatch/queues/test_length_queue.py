"""The queue that keeps lengths apart: in all but its batches it is the queue in the order of deadlines."""

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from dispatch.lengths.buckets import LengthBuckets, padding_share
from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.queues.length_queue import LengthQueue

SHARE = 0.25
LONGEST = 60
JOBS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.integers(1, LONGEST), st.booleans()), max_size=25)


def job(number: int, deadline_s: float, rows: int, length: int, *, alone: bool = False) -> Job:
    query = Query(number, "e", 0.0, deadline_s, rows, length=length)
    return Job(number, query, deadline_s, rows, {}, losses=int(alone), length=length)


def queue() -> LengthQueue:
    return LengthQueue(LengthBuckets.covering([], LONGEST, SHARE), lambda length: length / 10)


def filled(drawn: list[tuple[int, int, int, bool]]) -> tuple[LengthQueue, DeadlineQueue, list[Job]]:
    jobs = [job(i, float(due), rows, length, alone=alone) for i, (due, rows, length, alone) in enumerate(drawn)]
    apart, plain = queue(), DeadlineQueue()
    for each in jobs:
        apart.push(each)
        plain.push(each)
    return apart, plain, jobs


@given(JOBS, st.floats(0.0, 6.0))
def test_order_rows_and_expiry_are_those_of_a_plain_queue(
    drawn: list[tuple[int, int, int, bool]], now_s: float
) -> None:
    apart, plain, _ = filled(drawn)
    assert list(apart) == list(plain)
    assert (len(apart), apart.rows, bool(apart)) == (len(plain), plain.rows, bool(plain))
    assert apart.deadlines_s() == plain.deadlines_s()
    assert apart.first() == plain.first()
    assert apart.pop_expired(now_s) == plain.pop_expired(now_s)
    assert list(apart) == list(plain)
    assert apart.rows == plain.rows


@given(JOBS, st.integers(1, 8), st.lists(st.integers(1, LONGEST), max_size=8))
def test_a_batch_has_who_is_due_first_and_only_who_may_share_it_and_nobody_is_lost(
    drawn: list[tuple[int, int, int, bool]], max_rows: int, observed: list[int]
) -> None:
    apart, _, jobs = filled(drawn)
    apart.rebucket(LengthBuckets.covering(observed, LONGEST, SHARE))
    left = {each.id: each for each in jobs}
    while apart:
        first, before = apart.first(), apart.rows
        waiting = apart.waiting()
        batch = apart.pop_batch(max_rows)
        assert batch[0] == first == min(left.values(), key=lambda each: (each.deadline_s, each.id))
        assert all(each.length <= waiting[0].edge for each in batch)
        assert padding_share([each.length for each in batch for _ in range(each.rows)]) <= SHARE
        assert sum(each.rows for each in batch) <= max(max_rows, batch[0].rows)
        assert len(batch) == 1 or not any(each.alone for each in batch)
        assert apart.rows == before - sum(each.rows for each in batch)
        for each in batch:
            assert left.pop(each.id) == each
    assert not left
    assert apart.rows == 0


@given(JOBS, st.data())
def test_who_is_cancelled_counts_no_more(drawn: list[tuple[int, int, int, bool]], data: st.DataObject) -> None:
    apart, plain, jobs = filled(drawn)
    for each in data.draw(st.lists(st.sampled_from(jobs), unique_by=lambda j: j.id)) if jobs else []:
        apart.cancel(each)
        plain.cancel(each)
    assert list(apart) == list(plain)
    assert apart.rows == plain.rows
    assert apart.first() == plain.first()


def test_rows_before_a_deadline_are_counted_by_what_they_are_worth() -> None:
    apart = queue()
    apart.push(job(1, 1.0, 1, 60))
    apart.push(job(2, 2.0, 2, 5))
    edge = LengthBuckets.covering([], LONGEST, SHARE).edge(5)
    assert apart.rows_before(0.5) == 0
    assert apart.rows_before(1.0) == 6
    assert apart.rows_before(2.0) == ceil(6 + 2 * edge / 10)

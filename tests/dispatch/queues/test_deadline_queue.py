"""Order and row count of the deadline queue, against a sorted list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue


def job(query_id: int, deadline_s: float, rows: int = 1, excluded: frozenset[str] = frozenset()) -> Job:
    query = Query(query_id, "digits", 0.0, deadline_s, rows)
    return Job(query_id, query, deadline_s, rows, {}, excluded=excluded)


def test_jobs_leave_in_the_order_of_their_deadlines_and_equal_ones_in_order_of_arrival() -> None:
    queue = DeadlineQueue()
    for query_id, deadline_s in [(1, 3.0), (2, 1.0), (3, 3.0), (4, 2.0)]:
        queue.push(job(query_id, deadline_s))
    assert [queue.pop().query.id for _ in range(4)] == [2, 4, 1, 3]


def test_taking_from_an_empty_queue_raises() -> None:
    with pytest.raises(IndexError):
        DeadlineQueue().pop()


def test_a_batch_counts_rows_not_jobs() -> None:
    queue = DeadlineQueue()
    for query_id, rows in [(1, 3), (2, 4), (3, 1)]:
        queue.push(job(query_id, float(query_id), rows))
    assert [j.query.id for j in queue.pop_batch(7)] == [1, 2]
    assert queue.rows == 1


def test_a_job_larger_than_the_batch_is_still_taken_by_itself() -> None:
    queue = DeadlineQueue()
    queue.push(job(1, 1.0, rows=9))
    queue.push(job(2, 2.0))
    assert [j.query.id for j in queue.pop_batch(4)] == [1]


def test_a_job_that_failed_before_shares_its_batch_with_nobody() -> None:
    queue = DeadlineQueue()
    queue.push(job(1, 1.0))
    queue.push(job(2, 2.0, excluded=frozenset({"a"})))
    queue.push(job(3, 3.0))
    assert [[j.query.id for j in queue.pop_batch(8)] for _ in range(3)] == [[1], [2], [3]]


def test_a_deadline_that_is_now_has_expired() -> None:
    queue = DeadlineQueue()
    queue.push(job(1, 1.0))
    queue.push(job(2, 2.0))
    assert [j.query.id for j in queue.pop_expired(1.0)] == [1]


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(1, 5), st.booleans()), max_size=40))
def test_whatever_is_cancelled_neither_counts_nor_comes_out(entries: list[tuple[float, int, bool]]) -> None:
    queue = DeadlineQueue()
    jobs = [job(i, deadline_s, rows) for i, (deadline_s, rows, _) in enumerate(entries)]
    for each in jobs:
        queue.push(each)
    for each, (_, _, cancelled) in zip(jobs, entries, strict=True):
        if cancelled:
            queue.cancel(each.query)
    kept = [j for j, (_, _, cancelled) in zip(jobs, entries, strict=True) if not cancelled]
    expected = sorted(kept, key=lambda j: (j.query.deadline_s, j.query.id))
    assert list(queue) == expected
    assert queue.rows == sum(j.query.rows for j in kept)
    assert len(queue) == len(kept)
    assert [queue.pop() for _ in expected] == expected
    assert not queue
    assert queue.rows == 0


@given(st.lists(st.tuples(st.floats(0, 9), st.integers(1, 3), st.booleans()), max_size=20), st.integers(1, 30))
def test_rows_in_the_order_of_their_deadlines_as_a_sorted_list_has_them(
    entries: list[tuple[float, int, bool]], rows: int
) -> None:
    queue = DeadlineQueue()
    kept = []
    for number, (deadline_s, size, is_cancelled) in enumerate(entries):
        asked = job(number, deadline_s, size)
        queue.push(asked)
        if is_cancelled:
            queue.cancel(asked)
        else:
            kept.append(asked)
    kept.sort(key=lambda each: (each.deadline_s, each.id))
    assert queue.deadlines_s() == [each.deadline_s for each in kept for _ in range(each.rows)]
    popped = queue.pop_rows(rows)
    assert popped == kept[: len(popped)]
    assert queue.rows == sum(each.rows for each in kept[len(popped) :])
    if len(popped) < len(kept):
        assert sum(each.rows for each in popped) >= rows
    assert sum(each.rows for each in popped[:-1]) < rows

"""The index by priority: its order, its rows, and that queues have one only where somebody asks."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.lengths.buckets import LengthBuckets
from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.queues.length_queue import LengthQueue
from dispatch.queues.priority_index import PriorityIndex

LONGEST = 60
JOBS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.integers(1, 3)), max_size=25)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["push", "push", "push", "cancel", "pop", "batch", "rows", "expired", "rebucket"]),
        st.integers(0, 5),
        st.integers(1, 3),
        st.integers(1, 3),
    ),
    max_size=40,
)


def job(number: int, deadline_s: float, priority: int, rows: int = 1) -> Job:
    length = 1 + 17 * number % LONGEST
    query = Query(number, "e", 0.0, deadline_s, rows, priority=priority, length=length)
    return Job(number, query, deadline_s, rows, {}, length=length)


def apart_by_length() -> LengthQueue:
    return LengthQueue(LengthBuckets.covering([], LONGEST, 0.25), lambda length: length / 10)


def ids(index: PriorityIndex, priority: int, until_s: float) -> list[int]:
    return [job_id for _, job_id, _ in index.latest_first(priority, until_s)]


@given(JOBS, st.integers(0, 5), st.data())
def test_jobs_of_a_priority_come_latest_first_and_their_rows_are_counted(
    drawn: list[tuple[int, int, int]], until: int, data: st.DataObject
) -> None:
    jobs = [job(number, float(due), priority, rows) for number, (due, priority, rows) in enumerate(drawn)]
    index = PriorityIndex(jobs)
    for each in data.draw(st.lists(st.sampled_from(jobs), unique_by=lambda one: one.id)) if jobs else []:
        index.remove(each)
        jobs.remove(each)
    assert sorted(index.lower_than(1)) == sorted({each.query.priority for each in jobs} - {1})
    for priority in index.lower_than(0):
        due = [each for each in jobs if each.query.priority == priority and each.deadline_s <= until]
        due.sort(key=lambda each: (each.deadline_s, each.id), reverse=True)
        assert ids(index, priority, float(until)) == [each.id for each in due]
        assert index.rows(priority, float(until)) == sum(each.rows for each in due)


def test_a_priority_of_which_nothing_waits_has_no_jobs() -> None:
    index = PriorityIndex([job(1, 1.0, 3)])
    assert not list(index.latest_first(2))
    index.remove(job(1, 1.0, 3))
    assert not index.lower_than(0)


def take(queue: DeadlineQueue, what: str, number: int, rows: int) -> Sequence[Job]:
    """The jobs that leave the queue in one of the ways in which they do."""
    match what:
        case "cancel" if waiting := list(queue):
            left: Sequence[Job] = [waiting[number % len(waiting)]]
            queue.cancel(left[0])
        case "pop" if queue:
            left = [queue.pop()]
        case "batch":
            left = queue.pop_batch(1 + number * rows)
        case "rows":
            left = queue.pop_rows(rows)
        case "expired":
            left = queue.pop_expired(float(number))
        case _:
            left = ()
    return left


def listed(index: PriorityIndex) -> Iterator[tuple[int, Sequence[int], int]]:
    for priority in sorted(index.lower_than(0)):
        yield priority, [job_id for _, job_id, _ in index.latest_first(priority)], index.rows(priority)


@pytest.mark.parametrize("made", [DeadlineQueue, apart_by_length])
@given(steps=STEPS)
def test_the_index_of_a_queue_has_what_waits_there_whatever_comes_and_leaves(
    made: Callable[[], DeadlineQueue], steps: list[tuple[str, int, int, int]]
) -> None:
    queue, waiting = made(), dict[int, Job]()
    queue.by_priority()
    for number, (what, deadline, priority, rows) in enumerate(steps):
        if what == "push":
            waiting[number] = job(number, float(deadline), priority, rows)
            queue.push(waiting[number])
        elif what == "rebucket" and isinstance(queue, LengthQueue):
            queue.rebucket(LengthBuckets.covering([7 * deadline + 1], LONGEST, 0.1 * rows))
        for each in take(queue, what, deadline, rows):
            del waiting[each.id]
        assert list(listed(queue.by_priority())) == list(listed(PriorityIndex(waiting.values())))


def test_a_queue_has_its_index_from_the_first_call_on_until_it_is_emptied() -> None:
    queue = DeadlineQueue()
    for number in range(4):
        queue.push(job(number, 1.0, 2))
    index = queue.by_priority()
    queue.push(job(9, 1.0, 2))
    queue.pop()
    assert queue.by_priority() is index
    assert index.rows(2) == 4
    assert len(queue.pop_batch(8)) == 4
    queue.push(job(10, 1.0, 3))
    assert queue.by_priority() is not index
    assert queue.by_priority().lower_than(0) == [3]

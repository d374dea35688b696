"""Who makes room, against a sorted list of all that waits."""

from collections.abc import Collection, Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.admission.displacement import displaced
from dispatch.lengths.buckets import LengthBuckets
from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.queues.length_queue import LengthQueue

LONGEST = 60
JOBS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(1, 4), st.integers(1, 3), st.booleans()), max_size=30
)
"""The queue of each, its deadline, priority and rows, and whether it is cancelled."""


def by_sorting(
    waiting: Iterable[Job], query: Query, rows: int, *, ahead: bool, besides: Collection[Job]
) -> Sequence[Job]:
    """The definition."""
    known = {job.id for job in besides}
    lower = [
        job
        for job in waiting
        if job.query.priority > query.priority
        and (not ahead or job.deadline_s <= query.deadline_s)
        and job.id not in known
    ]
    lower.sort(key=lambda job: (-job.query.priority, -job.deadline_s, -job.id))
    chosen: list[Job] = []
    for job in lower:
        if rows <= 0:
            break
        chosen.append(job)
        rows -= job.rows
    return chosen if rows <= 0 else ()


def job(number: int, deadline_s: float, priority: int, rows: int = 1) -> Job:
    length = 1 + 17 * number % LONGEST
    query = Query(number, "e", 0.0, deadline_s, rows, priority=priority, length=length)
    return Job(number, query, deadline_s, rows, {}, length=length)


def queues() -> list[DeadlineQueue]:
    apart = LengthQueue(LengthBuckets.covering([], LONGEST, 0.25), lambda length: length / 10)
    return [DeadlineQueue(), DeadlineQueue(), apart]


@given(JOBS, st.integers(0, 4), st.integers(0, 5), st.integers(0, 12), st.booleans(), st.data())
def test_those_that_make_room_are_the_first_of_all_in_the_order_of_priority_and_deadline(
    drawn: list[tuple[int, int, int, int, bool]],
    priority: int,
    deadline: int,
    rows: int,
    ahead: bool,
    data: st.DataObject,
) -> None:
    waiting = queues()
    jobs = [job(number, float(due), of, size) for number, (_, due, of, size, _) in enumerate(drawn)]
    for each, (place, *_) in zip(jobs, drawn, strict=True):
        waiting[place].push(each)
    waiting[data.draw(st.integers(0, 2))].by_priority()
    for each, (place, *_, cancelled) in zip(tuple(jobs), drawn, strict=True):
        if cancelled:
            waiting[place].cancel(each)
            jobs.remove(each)
    besides = data.draw(st.lists(st.sampled_from(jobs), unique_by=lambda each: each.id)) if jobs else []
    asking = Query(1000, "e", 0.0, float(deadline), priority=priority)
    expected = by_sorting(jobs, asking, rows, ahead=ahead, besides=besides)
    assert list(displaced(waiting, asking, rows, ahead=ahead, besides=besides)) == list(expected)


@pytest.mark.parametrize("late", [0, 1])
def test_nothing_is_looked_through_where_the_rows_of_lower_priority_are_too_few(
    late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = DeadlineQueue()
    for number in range(20):
        queue.push(job(number, 1.0 + number * late, 3))
    asking = Query(1000, "e", 0.0, 15.0, priority=2)
    monkeypatch.setattr("dispatch.admission.displacement.merge", None)
    assert not displaced([queue], asking, 21 - 5 * late, ahead=True)

"""What a policy sees of the queue."""

import pytest

from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.selection.policy import QueueView


def view(slack_share: float = 1.0, after_s: float = 0.0) -> QueueView:
    """Rows that are due at 1, 2, 2 and 3, seen at 0."""
    queue = DeadlineQueue()
    for job_id, (deadline_s, rows) in enumerate(((3.0, 1), (1.0, 1), (2.0, 2))):
        queue.push(Job(job_id, Query(job_id, "e", 0.0, deadline_s, rows), deadline_s, rows, {}))
    return QueueView(0.0, 4, 1.0 - after_s, (), waiting=queue, slack_share=slack_share, after_s=after_s)


def test_deadlines_are_those_of_the_rows() -> None:
    assert view().deadlines_s() == [1.0, 2.0, 2.0, 3.0]


def test_deadlines_are_earlier_by_what_queries_need_after_the_stage() -> None:
    assert view(after_s=0.5).deadlines_s() == [0.5, 1.5, 1.5, 2.5]
    assert view(after_s=0.5, slack_share=0.5).deadlines_s() == pytest.approx([0.25, 0.75, 0.75, 1.25])


def test_the_first_deadline_is_the_earliest() -> None:
    for seen in (view(), view(after_s=0.5), view(after_s=2.5)):
        assert seen.deadlines_s()[0] == seen.earliest_deadline_s

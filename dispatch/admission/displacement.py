"""Who makes room for a query of higher priority."""

from collections.abc import Sequence

from dispatch.query import Job, Query
from dispatch.queues.lane import Lane


def displaced(lane: Lane, query: Query, rows: int, *, ahead: bool) -> Sequence[Job]:
    """Jobs of lower priority that wait in a lane, together of so many ``rows`` at least; none where there are not.

    The lowest priority goes first, and of equals the latest deadline. With ``ahead`` only those that run before the
    query would.
    """
    lower = [
        job
        for job in lane.queue
        if job.query.priority > query.priority and (not ahead or job.deadline_s <= query.deadline_s)
    ]
    lower.sort(key=lambda job: (-job.query.priority, -job.deadline_s, -job.id))
    chosen: list[Job] = []
    for job in lower:
        if rows <= 0:
            break
        chosen.append(job)
        rows -= job.rows
    return chosen if rows <= 0 else ()

"""Who makes room for a query of higher priority."""

from collections.abc import Collection, Iterable, Sequence
from heapq import merge
from math import inf

from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue


def displaced(
    queues: Iterable[DeadlineQueue], query: Query, rows: int, *, ahead: bool = False, besides: Collection[Job] = ()
) -> Sequence[Job]:
    """Jobs of lower priority among those that wait in ``queues``, together of so many ``rows`` at least; none where
    there are not.

    The lowest priority goes first, and of equals the latest deadline, then the largest id. With ``ahead`` only those
    that run before the query would. None of those ``besides`` that make room already.
    """
    until_s = query.deadline_s if ahead else inf
    found = [(index, index.lower_than(query.priority)) for index in [queue.by_priority() for queue in queues]]
    if sum([index.rows(priority, until_s) for index, lower in found for priority in lower]) < rows:
        return ()
    known = {job.id for job in besides}
    chosen: list[Job] = []
    for priority in sorted({priority for _, lower in found for priority in lower}, reverse=True):
        for _, _, job in merge(*[index.latest_first(priority, until_s) for index, _ in found], reverse=True):
            if rows <= 0:
                return chosen
            if job.id not in known:
                chosen.append(job)
                rows -= job.rows
    return chosen if rows <= 0 else ()

"""Who makes room for a query of higher priority."""

from collections.abc import Collection, Iterable, Sequence

from dispatch.query import Job, Query


def displaced(
    waiting: Iterable[Job], query: Query, rows: int, *, ahead: bool = False, besides: Collection[Job] = ()
) -> Sequence[Job]:
    """Jobs of lower priority among those ``waiting``, together of so many ``rows`` at least; none where there are not.

    The lowest priority goes first, and of equals the latest deadline. With ``ahead`` only those that run before the
    query would. None of those ``besides`` that make room already.
    """
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

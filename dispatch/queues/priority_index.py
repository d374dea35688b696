"""What waits in a queue, by priority."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from math import inf
from operator import itemgetter

from dispatch.query import Job

Entry = tuple[float, int, Job]
"""A job behind its deadline in seconds and its id, which no other job of its endpoint has."""

deadline_s = itemgetter(0)
urgency = itemgetter(0, 1)


class PriorityIndex:
    """The jobs of a queue, apart by the priority of their queries and each in the order of their deadlines.

    A larger number is a lower priority. An endpoint that is never short of room needs none of it: a queue has its
    index made when it is first asked for, and tells it from then on what comes and what leaves.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._entries: dict[int, list[Entry]] = {}  # by priority number, none of them empty
        self._rows: dict[int, int] = {}  # of the entries, by the same
        for job in jobs:
            self.add(job)

    def add(self, job: Job) -> None:
        """The job waits from now on."""
        priority = job.query.priority
        insort(self._entries.setdefault(priority, []), (job.deadline_s, job.id, job))
        self._rows[priority] = self._rows.get(priority, 0) + job.rows

    def remove(self, job: Job) -> None:
        """The job, which is here, has left."""
        priority = job.query.priority
        entries = self._entries[priority]
        place = bisect_left(entries, (job.deadline_s, job.id), key=urgency)
        assert entries[place][1] == job.id, f"job {job.id} waited with another deadline"
        del entries[place]
        self._rows[priority] -= job.rows
        if not entries:
            del self._entries[priority], self._rows[priority]

    def lower_than(self, priority: int) -> list[int]:
        """The priority numbers larger than this one of which jobs wait."""
        return [each for each in self._entries if each > priority]

    def rows(self, priority: int, until_s: float = inf) -> int:
        """How many rows of one priority, of which jobs wait, are due then or earlier."""
        entries, rows = self._entries[priority], self._rows[priority]
        due = bisect_right(entries, until_s, key=deadline_s)
        if due == len(entries):
            return rows
        if rows == len(entries):  # the usual case: one row per job
            return due
        return sum([entry[2].rows for entry in entries[:due]])

    def latest_first(self, priority: int, until_s: float = inf) -> Iterator[Entry]:
        """The jobs of one priority that are due then or earlier, latest deadline first, of equals the largest id.

        Valid until a job comes or leaves.
        """
        entries = self._entries.get(priority, [])
        due = bisect_right(entries, until_s, key=deadline_s)
        return (entries[place] for place in range(due - 1, -1, -1))

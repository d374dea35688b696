"""Jobs in the order of their deadlines, apart by length."""

from collections.abc import Callable, Iterator
from heapq import merge
from math import ceil
from typing import NamedTuple

from dispatch.lengths.buckets import LengthBuckets
from dispatch.query import Job
from dispatch.queues.deadline_queue import DeadlineQueue

ROUNDING = 1e-9


class Bucket(NamedTuple):
    """What waits of the lengths up to ``edge``."""

    edge: int
    queue: DeadlineQueue


class LengthQueue(DeadlineQueue):
    """A `DeadlineQueue` whose batches have jobs of one bucket of lengths.

    The job that is due first is in the next batch, with those of its bucket that are due next; all else is in the order
    of deadlines whatever the lengths are. ``weight`` says what a row of a length is worth.
    """

    def __init__(self, buckets: LengthBuckets, weight: Callable[[int], float]) -> None:
        super().__init__()
        self._buckets = buckets
        self._weight = weight
        self._queues: dict[int, DeadlineQueue] = {}
        self._bucket_of: dict[int, int] = {}  # by the id of each job that waits

    def __bool__(self) -> bool:
        return bool(self._bucket_of)

    def __len__(self) -> int:
        return len(self._bucket_of)

    def __iter__(self) -> Iterator[Job]:
        return merge(*self._queues.values(), key=_urgency)

    def rebucket(self, buckets: LengthBuckets) -> None:
        """From now on these are the buckets."""
        if buckets.edges == self._buckets.edges:
            return
        waiting = list(self)
        self._buckets = buckets
        self._queues, self._bucket_of, self.rows = {}, {}, 0
        self._by_priority = None
        for job in waiting:
            self.push(job)

    def waiting(self) -> list[Bucket]:
        """The buckets in which something waits, the one whose first job is due first to the front."""
        edges = self._buckets.edges
        firsts = [(_urgency(job), number) for number, q in self._queues.items() if (job := q.first()) is not None]
        return [Bucket(edges[number], self._queues[number]) for _, number in sorted(firsts)]

    def deadlines_s(self) -> list[float]:
        """See `DeadlineQueue.deadlines_s`."""
        return [job.deadline_s for job in self for _ in range(job.rows)]

    def rows_before(self, deadline_s: float) -> int:
        """How many rows of the usual length those are worth that are due then or earlier."""
        edges, found = self._buckets.edges, 0.0
        for number, queue in self._queues.items():
            if rows := queue.rows_before(deadline_s):
                found += rows * self._weight(edges[number])
        return ceil(found - ROUNDING)

    def push(self, job: Job) -> None:
        """See `DeadlineQueue.push`."""
        number = self._buckets.number(job.length)
        queue = self._queues.get(number)
        if queue is None:
            queue = self._queues[number] = DeadlineQueue()
        queue.push(job)
        self._bucket_of[job.id] = number
        self.rows += job.rows
        if self._by_priority is not None:
            self._by_priority.add(job)

    def cancel(self, job: Job) -> None:
        """See `DeadlineQueue.cancel`."""
        self._queues[self._bucket_of[job.id]].cancel(job)
        self._taken(job)

    def first(self) -> Job | None:
        """See `DeadlineQueue.first`."""
        firsts = [job for queue in self._queues.values() if (job := queue.first()) is not None]
        return min(firsts, key=_urgency, default=None)

    def pop(self) -> Job:
        """See `DeadlineQueue.pop`."""
        job = self.first()
        if job is None:
            raise IndexError("no job waits")
        return self._taken(self._queues[self._bucket_of[job.id]].pop())

    def pop_batch(self, max_rows: int) -> tuple[Job, ...]:
        """See `DeadlineQueue.pop_batch`: of the bucket of the job that is due first."""
        job = self.first()
        if job is None:
            return ()
        return tuple(map(self._taken, self._queues[self._bucket_of[job.id]].pop_batch(max_rows)))

    def pop_rows(self, rows: int) -> list[Job]:
        """See `DeadlineQueue.pop_rows`: of the bucket of the job that is due first."""
        job = self.first()
        return [] if job is None else list(map(self._taken, self._queues[self._bucket_of[job.id]].pop_rows(rows)))

    def _taken(self, job: Job) -> Job:
        del self._bucket_of[job.id]
        self.rows -= job.rows
        if self._by_priority is not None:
            self._by_priority.remove(job)
        return job


def _urgency(job: Job) -> tuple[float, int]:
    return job.deadline_s, job.id

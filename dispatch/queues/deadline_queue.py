"""Jobs in the order of their deadlines."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import inf

from dispatch.query import Job
from dispatch.queues.priority_index import PriorityIndex


class DeadlineQueue:
    """Earliest deadline first; equal deadlines in the order of job ids, so that replays agree.

    A cancelled job stops counting at once; it leaves the heap at the front, or when half of the heap is cancelled.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Job]] = []
        self._cancelled: set[int] = set()
        self._any_alone = False
        self._latest_s = -inf  # no job is due later
        self._by_priority: PriorityIndex | None = None  # once somebody asked
        self.rows = 0

    def __bool__(self) -> bool:
        return len(self._heap) > len(self._cancelled)

    def __len__(self) -> int:
        return len(self._heap) - len(self._cancelled)

    def __iter__(self) -> Iterator[Job]:
        """Waiting jobs, earliest deadline first."""
        return (job for _, job_id, job in sorted(self._heap, key=lambda e: e[:2]) if job_id not in self._cancelled)

    def deadlines_s(self) -> list[float]:
        """The deadline of each waiting row, ascending."""
        self._heap.sort()  # a sorted list is a heap
        if self.rows == len(self._heap) and not self._cancelled:  # the usual case: one row per job
            return [entry[0] for entry in self._heap]
        return [job.deadline_s for job in self for _ in range(job.rows)]

    def by_priority(self) -> PriorityIndex:
        """What waits, by priority; made when it is asked for, and kept up until most of what waits leaves at once."""
        if self._by_priority is None:
            self._by_priority = PriorityIndex(self)
        return self._by_priority

    def rows_before(self, deadline_s: float) -> int:
        """How many waiting rows are due then or earlier."""
        if deadline_s >= self._latest_s:
            return self.rows
        rows = sum([entry[2].rows for entry in self._heap if entry[0] <= deadline_s])
        if self._cancelled:
            rows -= sum([e[2].rows for e in self._heap if e[0] <= deadline_s and e[1] in self._cancelled])
        return rows

    def push(self, job: Job) -> None:
        """Add a job, which must not be waiting here already."""
        deadline_s = job.deadline_s
        if deadline_s > self._latest_s:
            self._latest_s = deadline_s
        heappush(self._heap, (deadline_s, job.id, job))
        self.rows += job.rows
        if job.losses or job.excluded:  # `Job.alone`, on the way of every query
            self._any_alone = True
        if self._by_priority is not None:
            self._by_priority.add(job)

    def cancel(self, job: Job) -> None:
        """Forget a job that waits here."""
        self._cancelled.add(job.id)
        self.rows -= job.rows
        if self._by_priority is not None:
            self._by_priority.remove(job)
        if len(self._cancelled) > len(self._heap) // 2:
            self._heap = [entry for entry in self._heap if entry[1] not in self._cancelled]
            heapify(self._heap)
            self._cancelled.clear()

    def first(self) -> Job | None:
        """The job with the earliest deadline, or None."""
        heap = self._heap
        if self._cancelled:
            while heap and heap[0][1] in self._cancelled:
                self._cancelled.discard(heappop(heap)[1])
        return heap[0][2] if heap else None

    def pop(self) -> Job:
        """Take the job with the earliest deadline; raises IndexError where none waits."""
        self.first()
        job = heappop(self._heap)[2]
        self.rows -= job.rows
        if self._by_priority is not None:
            self._by_priority.remove(job)
        return job

    def pop_batch(self, max_rows: int) -> tuple[Job, ...]:
        """Take jobs, earliest deadline first, while they fit into ``max_rows``; at least one if any waits.

        Stops before a job that must run alone, and takes such a job by itself.
        """
        heap = self._heap
        if self.rows <= max_rows and not (self._cancelled or self._any_alone):  # the usual case, in one go
            heap.sort()
            everything = tuple([entry[2] for entry in heap])
            heap.clear()
            self.rows = 0
            self._by_priority = None
            return everything
        batch: list[Job] = []
        rows = 0
        while (job := self.first()) is not None:
            if batch and (rows + job.rows > max_rows or job.alone):
                break
            heappop(heap)
            batch.append(job)
            rows += job.rows
            if job.alone:
                break
        self.rows -= rows
        self._any_alone = self._any_alone and bool(heap)
        if self._by_priority is not None:
            for job in batch:
                self._by_priority.remove(job)
        return tuple(batch)

    def pop_rows(self, rows: int) -> list[Job]:
        """Take whole jobs, earliest deadline first, until so many rows or all are gone."""
        left = self.rows - rows
        jobs = []
        while self.rows > left and self:
            jobs.append(self.pop())
        return jobs

    def pop_expired(self, now_s: float) -> list[Job]:
        """Take every job whose deadline has come: no result can be there in time."""
        index, self._by_priority = self._by_priority, None
        expired = []
        while (job := self.first()) is not None and job.deadline_s <= now_s:
            expired.append(self.pop())
        if index is not None and len(expired) <= len(self):  # else what is left is indexed anew sooner
            for job in expired:
                index.remove(job)
            self._by_priority = index
        return expired

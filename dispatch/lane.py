"""What waits for an endpoint, and the ways on which it reaches workers."""

from dispatch.balancing.balancer import WorkerLoad
from dispatch.deadline_queue import DeadlineQueue
from dispatch.plan import EndpointPlan
from dispatch.query import Job, Query
from dispatch.selection.policy import Candidate


class Waiting:
    """All that waits for one endpoint: ``rows`` in sum, and by query id the lane in which it does.

    ``deadlines_matter`` where queries leave at them: no worker serves the endpoint, or it drops what is late.
    """

    def __init__(self, plan: EndpointPlan) -> None:
        self.plan = plan
        self.lanes: list[Lane] = []
        self.rows = 0
        self.place: dict[int, Lane] = {}
        self.deadlines_matter = True


class Lane:
    """A way from one endpoint's jobs to one worker: the queue that the worker takes them from.

    ``load`` is what the queue's rows count for: the worker's, or nobody's where workers share the queue.
    ``accuracies`` are those of ``candidates``, by variant; ``index`` is the worker's place among all that serve the
    endpoint.
    """

    __slots__ = ("accuracies", "candidates", "endpoint", "index", "load", "queue")

    def __init__(self, endpoint: Waiting, queue: DeadlineQueue, load: WorkerLoad) -> None:
        self.endpoint = endpoint
        self.queue = queue
        self.load = load
        self.index = 0
        self.candidates: tuple[Candidate, ...] = ()
        self.accuracies: dict[str, float] = {}

    def push(self, job: Job) -> None:
        """The job waits here from now on."""
        query = job.query
        endpoint = self.endpoint
        self.queue.push(job)
        self.load.queued_rows += query.rows
        endpoint.rows += query.rows
        endpoint.place[query.id] = self

    def take(self, max_rows: int) -> tuple[Job, ...]:
        """The next batch, as `DeadlineQueue.pop_batch` makes it."""
        queue = self.queue
        before = queue.rows
        jobs = queue.pop_batch(max_rows)
        self._forget(before - queue.rows, jobs)
        return jobs

    def expired(self, now_s: float) -> tuple[Job, ...]:
        """Take the jobs whose deadline has come."""
        before = self.queue.rows
        jobs = tuple(self.queue.pop_expired(now_s))
        self._forget(before - self.queue.rows, jobs)
        return jobs

    def drain(self) -> tuple[Job, ...]:
        """Take all jobs."""
        return self.expired(float("inf"))

    def cancel(self, query: Query) -> None:
        """Forget a query that waits here."""
        self.queue.cancel(query)
        self.load.queued_rows -= query.rows
        self.endpoint.rows -= query.rows
        del self.endpoint.place[query.id]

    def _forget(self, rows: int, jobs: tuple[Job, ...]) -> None:
        self.load.queued_rows -= rows
        self.endpoint.rows -= rows
        place = self.endpoint.place
        for job in jobs:
            del place[job.query.id]

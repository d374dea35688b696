"""What waits for an endpoint, and the ways on which it reaches workers."""

from typing import Any

from dispatch.balancing.balancer import WorkerLoad
from dispatch.latency.estimate import LatencyEstimate
from dispatch.plan import EndpointPlan
from dispatch.promise.feedback import SlackFeedback
from dispatch.query import Batch, Job, Query, quick
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.selection.policy import Candidate, Outcome


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
        self.feedback = SlackFeedback()


class Lane:
    """A way from one endpoint's jobs to one worker: the queue that the worker takes them from.

    ``load`` is what the queue's rows count for: the worker's, or nobody's where workers share the queue. ``offered`` is
    what the plan has for the worker, ``candidates`` the same with the ``latency`` that was measured on it.
    ``accuracies`` are by variant; ``index`` is the worker's place among all that serve the endpoint. ``state`` is what
    the policy wants to see again with its next decision, ``last`` what became of the batch ``batch_id``, which its last
    decision launched: see `QueueView`.
    """

    __slots__ = (
        "accuracies",
        "batch_id",
        "candidates",
        "endpoint",
        "index",
        "last",
        "latency",
        "load",
        "offered",
        "queue",
        "state",
    )

    def __init__(self, endpoint: Waiting, queue: DeadlineQueue, load: WorkerLoad) -> None:
        self.endpoint = endpoint
        self.queue = queue
        self.load = load
        self.index = 0
        self.latency: LatencyEstimate | None = None
        self.offered: tuple[Candidate, ...] = ()
        self.candidates: tuple[Candidate, ...] = ()
        self.accuracies: dict[str, float] = {}
        self.forget_decisions()

    def offer(self, candidates: tuple[Candidate, ...]) -> None:
        """The worker holds these from now on, most accurate first; with others than before, decisions begin anew."""
        if candidates != self.offered:
            self.offered = candidates
            self.accuracies = {c.variant: c.accuracy for c in candidates}
            self.forget_decisions()
            self._correct()

    def measured(self, latency: LatencyEstimate) -> None:
        """This is what batches take on the worker from now on."""
        self.latency = latency
        self._correct()

    def _correct(self) -> None:
        latency = self.latency
        self.candidates = self.offered if latency is None else tuple(map(latency.corrected, self.offered))

    def forget_decisions(self) -> None:
        """The policy sees nothing of its decisions so far."""
        self.batch_id = 0
        self.state: Any = None
        self.last: Outcome | None = None

    def on_done(self, batch: Batch, now_s: float) -> None:
        """A batch came back from the worker; its jobs are in the order of their deadlines."""
        if batch.id == self.batch_id:
            first = batch.jobs[0].query
            self.last = quick(Outcome, (now_s > first.deadline_s, now_s - batch.launched_s > first.allowed_s))

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

    def give_up(self, rows: int) -> tuple[Job, ...]:
        """Take the first jobs, so many rows at least, or all."""
        before = self.queue.rows
        jobs = tuple(self.queue.pop_rows(rows))
        self._forget(before - self.queue.rows, jobs)
        return jobs

    def expired(self, now_s: float) -> tuple[Job, ...]:
        """Take the jobs whose deadline has come."""
        first = self.queue.first()
        if first is None or first.query.deadline_s > now_s:
            return ()
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

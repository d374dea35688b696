"""What waits for one endpoint, and where."""

from dispatch.balancing.balancer import WorkerLoad
from dispatch.deadline_queue import DeadlineQueue
from dispatch.plan import EndpointPlan
from dispatch.query import Job, Query
from dispatch.selection.policy import Candidate
from dispatch.worker_state import WorkerState


class Lane:
    """A way from one endpoint's jobs to one worker: the queue that the worker takes them from.

    ``load`` is what the queue's rows count for: the worker's, or nobody's where workers share the queue.
    ``accuracies`` are those of ``candidates``, by variant; ``index`` is the worker's place among all that serve the
    endpoint.
    """

    __slots__ = ("accuracies", "candidates", "endpoint", "index", "load", "queue")

    def __init__(self, endpoint: "EndpointQueues", queue: DeadlineQueue, load: WorkerLoad) -> None:
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


class EndpointQueues:
    """The ``workers`` that serve the endpoint, in the order of their ids, with a lane each, and a common queue.

    In the common queue wait jobs that no worker can take yet, and with central balancing all jobs: then every
    worker's lane leads there. ``rows`` counts all that waits, ``place`` says where, by query id. ``deadlines_matter``
    where queries leave at them: no worker serves the endpoint, or it drops what is late.
    """

    def __init__(self, plan: EndpointPlan) -> None:
        self.plan = plan
        self.workers: list[WorkerState] = []
        self.lanes: list[Lane] = []
        self.common = Lane(self, DeadlineQueue(), WorkerLoad(""))
        self.rows = 0
        self.deadlines_matter = True
        self.place: dict[int, Lane] = {}
        self._loads: list[WorkerLoad] = []

    def join(self, job: Job, now_s: float) -> WorkerState | None:
        """Queue a job with the worker that the balancer picks; None where it waits in the common queue."""
        balancer = self.plan.balancer
        if balancer is None or not self.lanes:
            self.common.push(job)
            return None
        index = balancer.pick(self._loads, now_s)
        self.lanes[index].push(job)
        return self.workers[index]

    def ways(self) -> list[Lane]:
        """The lanes whose queues are distinct and together hold all that waits."""
        return [self.common] if self.plan.balancer is None or not self.lanes else self.lanes

    def refresh(self, plan: EndpointPlan, workers: list[WorkerState]) -> None:
        """Derive the lanes anew; what waits in one that is no more goes to the common queue. ``workers`` by id."""
        self.plan = plan
        before = self.lanes
        served = [(worker, lane) for worker in workers if (lane := self._lane(worker)) is not None]
        self.workers = [worker for worker, _ in served]
        self.lanes = [lane for _, lane in served]
        self._loads = [lane.load for lane in self.lanes]
        self.deadlines_matter = plan.drop_late or not self.lanes
        for index, lane in enumerate(self.lanes):
            lane.index = index
        kept = set(self.lanes)
        for lane in before:
            if lane not in kept and lane.queue is not self.common.queue:
                for job in lane.drain():
                    self.common.push(job)

    def _lane(self, worker: WorkerState) -> Lane | None:
        """The worker's lane, with the candidates that it holds now; None where it holds none."""
        pools = self.plan.pools
        offered = self.plan.candidates.get(worker.device, ()) if pools is None or worker.pool in pools else ()
        held = [c for c in offered if c.variant in worker.variants]
        lane = worker.lanes.get(self.plan.name)
        if not held:
            worker.set_lane(self.plan.name, None)
            return None
        central = self.plan.balancer is None
        if lane is None or (lane.queue is self.common.queue) != central:
            own = (DeadlineQueue(), worker.load)
            lane = Lane(self, *((self.common.queue, self.common.load) if central else own))
        held.sort(key=lambda c: (-c.accuracy, c.latency_s[1]))
        lane.candidates = tuple(held)
        lane.accuracies = {c.variant: c.accuracy for c in held}
        worker.set_lane(self.plan.name, lane)
        return lane

"""What the dispatcher knows of one worker."""

from dispatch.balancing.balancer import WorkerLoad
from dispatch.deadline_queue import DeadlineQueue
from dispatch.plan import EndpointPlan
from dispatch.query import Batch, Job
from dispatch.selection.policy import Candidate


class WorkerState:
    """A worker's variants, its queue per endpoint, and the one batch that it runs."""

    def __init__(self, worker: str, device: str) -> None:
        self.id = worker
        self.device = device
        self.variants: frozenset[str] = frozenset()
        self.queues: dict[str, DeadlineQueue] = {}
        self.candidates: dict[str, tuple[Candidate, ...]] = {}
        self.accuracies: dict[tuple[str, str], float] = {}
        self.batch: Batch | None = None
        self.load = WorkerLoad(worker)

    def queue(self, endpoint: str) -> DeadlineQueue:
        """The queue of an endpoint, made when first asked for."""
        return self.queues.setdefault(endpoint, DeadlineQueue())

    def offer(self, endpoint: EndpointPlan) -> bool:
        """Work out which variants held here may answer the endpoint; False where none may."""
        held = [c for c in endpoint.candidates.get(self.device, ()) if c.variant in self.variants]
        held.sort(key=lambda c: (-c.accuracy, c.latency_s[1]))
        self.candidates[endpoint.name] = tuple(held)
        self.accuracies.update({(endpoint.name, c.variant): c.accuracy for c in held})
        return bool(held)

    def start(self, batch: Batch) -> None:
        """The worker runs this batch now; it must be idle."""
        assert self.batch is None
        self.batch = batch
        self.load.running_rows = batch.rows

    def finish(self) -> None:
        """The batch came back, whatever became of it."""
        self.batch = None
        self.load.running_rows = 0

    def most_urgent(self) -> tuple[str, Job]:
        """Endpoint and first job of the queue whose head is due first; call it only while rows are queued."""
        heads = ((name, queue.first()) for name, queue in self.queues.items())
        waiting = [(name, first) for name, first in heads if first is not None]
        if len(waiting) == 1:
            return waiting[0]
        return min(waiting, key=lambda head: (head[1].query.deadline_s, head[1].query.id))

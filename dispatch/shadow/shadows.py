"""Shadow runs of all endpoints: which batches of no client are launched, and what they say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dispatch.commands import BatchDone
from dispatch.query import ONLY_STAGE, Batch, quick
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.queues.worker_state import WorkerState
from dispatch.selection.policy import Candidate
from dispatch.shadow.endpoint_shadow import EndpointShadow, Sample
from dispatch.shadow.spare import has_spare_capacity


class Shadows:
    """Launches a drawn query on an idle worker that holds the reference and has spare capacity.

    ``endpoints`` are the dispatcher's own by name. One that has been drawn and finds no such worker is tried again
    whenever a batch comes back, for a while. A run that fails is not tried again.
    """

    def __init__(self, endpoints: Mapping[str, EndpointQueues]) -> None:
        self._endpoints = endpoints
        self.by_endpoint: dict[str, EndpointShadow] = {}
        self._running: dict[str, tuple[int, EndpointShadow, Sample]] = {}  # by worker
        self._launched = 0

    def refresh(self) -> None:
        """The plan or the workers are others than before."""
        wanted = {name: each.plan.shadow for name, each in self._endpoints.items() if ONLY_STAGE in each.stages}
        self.by_endpoint = {
            name: known if (known := self.by_endpoint.get(name)) and known.rules == rules else EndpointShadow(rules)
            for name, rules in wanted.items()
            if rules is not None
        }
        for name, shadow in self.by_endpoint.items():
            shadow.refresh(self._endpoints[name].stages[ONLY_STAGE])

    def on_answered(self, done: BatchDone) -> None:
        """A batch of queries came back."""
        if (shadow := self.by_endpoint.get(done.batch.endpoint)) is not None:
            shadow.on_done(done)

    def begin(self, workers: Iterable[WorkerState], now_s: float) -> Sequence[Batch]:
        """The batches that run from now on, which the workers have been given."""
        if not any(shadow.waiting for shadow in self.by_endpoint.values()):
            return ()
        idle = sorted((each for each in workers if not each.under_way), key=lambda each: each.id)
        begun = []
        for name, shadow in self.by_endpoint.items():
            shadow.drop_old(now_s)
            while shadow.waiting and (found := self._worker(name, shadow, idle, now_s)) is not None:
                begun.append(self._launch(*found, shadow, name, now_s))
                shadow.drop_old(now_s)
        return begun

    def on_done(self, batch: Batch, outputs: Sequence[Mapping[str, Any]]) -> None:
        """A shadow run came back."""
        batch_id, shadow, sample = self._running.pop(batch.worker)
        assert batch_id == batch.id
        shadow.on_result(sample, batch.variant, outputs[0])

    def on_lost(self, worker: str) -> None:
        """The worker's shadow run came to nothing: it raised, or the worker died, hangs or was taken away."""
        _, shadow, _ = self._running.pop(worker)
        shadow.dropped += 1

    def _worker(
        self, endpoint: str, shadow: EndpointShadow, idle: Iterable[WorkerState], now_s: float
    ) -> tuple[WorkerState, Candidate] | None:
        """One with spare capacity, and the reference as it is there."""
        key = self._endpoints[endpoint].stages[ONLY_STAGE].key
        (rows, length), reference = (shadow.waiting[0].job.rows, shadow.waiting[0].job.length), shadow.reference
        if reference is None:
            return None
        for worker in idle:
            lane = worker.lanes.get(key)
            offered = () if lane is None else lane.at(length)
            own = next((each for each in offered if each.variant == reference.variant), None)
            if own is not None and rows <= own.max_batch and has_spare_capacity(worker, own.latency_s[rows], now_s):
                return worker, own
        return None

    def _launch(
        self, worker: WorkerState, reference: Candidate, shadow: EndpointShadow, endpoint: str, now_s: float
    ) -> Batch:
        sample = shadow.waiting.popleft()
        self._launched += 1
        key = self._endpoints[endpoint].stages[ONLY_STAGE].key
        job, accuracy = sample.job, reference.accuracy
        made = (-self._launched, worker.id, key, reference.variant, accuracy, (job,), job.rows, now_s, None, job.length)
        batch = quick(Batch, made)
        worker.start(batch)
        self._running[worker.id] = (batch.id, shadow, sample)
        return batch

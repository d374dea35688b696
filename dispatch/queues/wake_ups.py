"""When a dispatcher has to be asked again although nothing happens."""

from collections.abc import Mapping, Sequence
from math import inf

from dispatch.commands import Command, WakeAt
from dispatch.latency.estimator import LatencyEstimator
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.queues.lane import Lane
from dispatch.queues.timed_flows import TimedFlows
from dispatch.queues.worker_state import WorkerState
from dispatch.recovery.batch_watch import BatchWatch

NOTHING: tuple[()] = ()


class WakeUps:
    """Asks for a WakeAt at the first deadline that matters, where a policy's hold ends, where a flow is due and where
    running batches are to be looked at.

    ``workers`` and ``endpoints`` are the dispatcher's own, by id and name, and change while this looks at them;
    ``latency`` says whether every batch is to be followed ahead of its result, as it is without.
    """

    def __init__(
        self,
        workers: Mapping[str, WorkerState],
        endpoints: Mapping[str, EndpointQueues],
        flows: TimedFlows,
        watch: BatchWatch,
        latency: LatencyEstimator | None = None,
    ) -> None:
        self._latency = latency
        self._flows = flows
        self._watch = watch
        self._workers = workers
        self._endpoints = endpoints
        self._wake_s = inf  # a WakeAt for this instant is under way
        self._due_s = inf  # nothing that waits leaves at an earlier deadline

    def on_wake(self, now_s: float) -> list[Lane]:
        """The WakeAt is due: gives the lanes in which deadlines may have come."""
        self._wake_s = inf
        return self._waiting() if self._due_s <= now_s else []

    def on_deadline(self, deadline_s: float) -> list[Command]:
        """A job waits that leaves then."""
        if deadline_s < self._due_s:
            self._due_s = deadline_s
        return self.at(deadline_s)

    def on_launch(self, now_s: float) -> Sequence[Command]:
        """A batch runs from now on, at which somebody has to look."""
        return NOTHING if self._watch.look_s < inf else self.at(self._watch.begin(now_s))

    def on_result(self, worker: WorkerState) -> Sequence[Command]:
        """A batch came back: the one behind it, which was launched ahead, may be followed ahead of its own result."""
        all_ahead = self._latency is None or self._latency.all_ahead
        return self.at(worker.ask_s) if all_ahead else NOTHING

    def on_change(self) -> None:
        """Deadlines may matter from now on that did not before."""
        self._due_s = self._first_deadline_s()

    def at(self, at_s: float) -> list[Command]:
        """A WakeAt for that instant, unless one that early is under way."""
        if at_s >= self._wake_s:
            return []
        self._wake_s = at_s
        return [WakeAt(at_s)]

    def for_all(self, now_s: float) -> list[Command]:
        """A WakeAt for the first deadline that matters, batch to follow, hold that ends or flow that is due;
        never in the past."""
        at_s = min((worker.ask_s for worker in self._workers.values()), default=inf)
        if self._due_s < at_s:
            self._due_s = self._first_deadline_s()
        return self.at(max(now_s, min(at_s, self._due_s, self._flows.due_s, self._watch.look_s)))

    def _waiting(self) -> list[Lane]:
        """Where something waits that leaves at its deadline."""
        return [
            lane
            for endpoint in self._endpoints.values()
            if endpoint.rows
            for stage in endpoint.stages.values()
            if stage.deadlines_matter
            for lane in stage.distinct_lanes()
            if lane.queue.rows
        ]

    def _first_deadline_s(self) -> float:
        firsts = [(lane.stage, lane.queue.first()) for lane in self._waiting()]
        return min((stage.leaves_s(first.deadline_s) for stage, first in firsts if first is not None), default=inf)

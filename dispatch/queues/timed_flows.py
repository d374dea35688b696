"""Flows that are called when their time comes, and when their stages gain or lose all workers."""

from collections.abc import Iterator, Mapping
from math import inf

from dispatch.flow.flow import Step, TimedFlow
from dispatch.query import Job
from dispatch.queues.endpoint_queues import EndpointQueues


class TimedFlows:
    """Those of the ``endpoints``, which are the dispatcher's own by name."""

    def __init__(self, endpoints: Mapping[str, EndpointQueues]) -> None:
        self._endpoints = endpoints
        self._flows: dict[str, TimedFlow] = {}
        self._served: dict[str, frozenset[str] | None] = {}  # None where they were not told yet

    def refresh(self) -> None:
        """Endpoints came or went."""
        flows = {name: endpoint.flow for name, endpoint in self._endpoints.items()}
        self._flows = {name: flow for name, flow in flows.items() if isinstance(flow, TimedFlow)}
        self._served = {name: self._served.get(name) for name in self._flows}

    @property
    def due_s(self) -> float:
        """When the first of them is due, infinite where none is."""
        return min([flow.due_s for flow in self._flows.values()]) if self._flows else inf

    def wants(self, job: Job) -> bool:
        """Whether anyone waits for a job that is to be queued: others of its query may just have ended that."""
        flow = self._flows.get(job.query.endpoint)
        return flow is None or flow.waits_for(job)

    def on_time(self, now_s: float) -> Iterator[tuple[EndpointQueues, Step]]:
        """What follows where the time has come, by endpoint."""
        for name, flow in self._flows.items():
            if flow.due_s <= now_s:
                yield self._endpoints[name], flow.on_due(now_s)

    def on_workers(self, now_s: float) -> Iterator[tuple[EndpointQueues, Step]]:
        """What follows where other stages have workers than before, by endpoint."""
        for name, flow in self._flows.items():
            endpoint = self._endpoints[name]
            served = frozenset(stage for stage, queues in endpoint.stages.items() if queues.lanes)
            if served != self._served[name]:
                self._served[name] = served
                yield endpoint, flow.on_served(served, now_s)

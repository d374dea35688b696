"""Flows that are called when their time comes, and when their stages gain or lose all workers."""

from collections.abc import Iterator, Mapping
from math import inf
from typing import NamedTuple

from dispatch.flow.flow import Step, TimedFlow
from dispatch.query import Job
from dispatch.queues.endpoint_queues import EndpointQueues


class _Timed(NamedTuple):
    endpoint: EndpointQueues
    flow: TimedFlow  # the endpoint's


class TimedFlows:
    """Those of the ``endpoints``, which are the dispatcher's own by name, and of removed ones until none is due.

    What runs of a removed endpoint keeps its time limits, even if another of the same name is served by now.
    """

    def __init__(self, endpoints: Mapping[str, EndpointQueues]) -> None:
        self._endpoints = endpoints
        self._by_name: dict[str, _Timed] = {}
        self._removed: list[_Timed] = []
        self._served: dict[str, frozenset[str] | None] = {}  # None where they were not told yet

    def refresh(self) -> None:
        """Endpoints came or went."""
        known = [*self._removed, *self._by_name.values()]
        flows = {name: (endpoint, endpoint.flow) for name, endpoint in self._endpoints.items()}
        self._by_name = {
            name: _Timed(endpoint, flow) for name, (endpoint, flow) in flows.items() if isinstance(flow, TimedFlow)
        }
        here = {id(each.flow) for each in self._by_name.values()}  # one flow may serve its endpoint again
        self._removed = [each for each in known if id(each.flow) not in here and each.flow.due_s < inf]
        self._served = {name: self._served.get(name) for name in self._by_name}

    @property
    def due_s(self) -> float:
        """When the first of them is due, infinite where none is."""
        due_s = min([each.flow.due_s for each in self._by_name.values()]) if self._by_name else inf
        return min(due_s, *[each.flow.due_s for each in self._removed]) if self._removed else due_s

    def wants(self, job: Job) -> bool:
        """Whether anyone waits for a job that is to be queued: others of its query may just have ended that."""
        timed = self._by_name.get(job.query.endpoint)
        return timed is None or timed.flow.waits_for(job)

    def on_time(self, now_s: float) -> Iterator[tuple[EndpointQueues, Step]]:
        """What follows where the time has come, by endpoint."""
        for endpoint, flow in (*self._by_name.values(), *self._removed):
            if flow.due_s <= now_s:
                yield endpoint, flow.on_due(now_s)

    def on_workers(self, now_s: float) -> Iterator[tuple[EndpointQueues, Step]]:
        """What follows where other stages have workers than before, by endpoint; nothing new runs of removed ones."""
        for name, (endpoint, flow) in self._by_name.items():
            served = frozenset(stage for stage, queues in endpoint.stages.items() if queues.lanes)
            if served != self._served[name]:
                self._served[name] = served
                yield endpoint, flow.on_served(served, now_s)

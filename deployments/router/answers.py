"""How the queries of a router end: each is answered or refused once, counted, and held against the promise."""

import asyncio
from collections.abc import Iterable

from deployments.router.loop_lag import LoopLag
from deployments.router.meter import RouterMeter
from deployments.router.stats import EndpointStats
from dispatch.commands import Answer, Reject, Served
from dispatch.promise.guarantee import GuaranteeMonitor
from dispatch.query import Query

ROUNDING_S = 1e-6


class RouterAnswers:
    """Holds a future per open query; ``lag`` tells how late clients get what is answered in time here."""

    def __init__(self, endpoints: Iterable[str], lag: LoopLag, now_s: float) -> None:
        names = tuple(endpoints)
        self.meter = RouterMeter()
        self.stats = {name: EndpointStats() for name in names}
        self.guarantees = {name: GuaranteeMonitor(name, now_s) for name in names}
        self._lag = lag
        self._open: dict[int, asyncio.Future[Answer]] = {}

    def expect(self, query: Query) -> asyncio.Future[Answer]:
        """A query came; gives its answer to be, or the error that it gets."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[query.id] = future
        self.stats[query.endpoint].arrived += 1
        self.meter.on_arrival(query.endpoint)
        return future

    def is_open(self, query: Query) -> bool:
        """Whether the query has no answer yet."""
        return query.id in self._open

    def withdraw(self, query: Query) -> bool:
        """Its client waits no longer; gives whether it was still open."""
        return self._open.pop(query.id, None) is not None

    def hand_over(self, query: Query, error: Exception) -> None:
        """The query is another router's from now on, who counts it; whoever waits for it here gets ``error``."""
        self.stats[query.endpoint].arrived -= 1
        self.meter.on_sent_on(query.endpoint)
        self._fail(query, error)

    def on_served(self, served: Served, slo_s: float) -> None:
        """A batch of an endpoint with this objective came back: answer its queries."""
        batch = served.batch
        stats, lag_s = self.stats[batch.endpoint], self._lag.mean_s
        ended = late = 0
        late_for_clients = 0.0
        for answer in served.answers():
            stats.on_answer(answer)
            if not answer.deadline_met:
                self.meter.on_violation(batch.endpoint)
            ended += 1
            allowed_s = max(slo_s, answer.query.allowed_s)
            late += answer.latency_s > allowed_s
            late_for_clients += answer.latency_s + lag_s > allowed_s
            future = self._open.pop(answer.query.id, None)
            if future is not None and not future.done():
                future.set_result(answer)
        guarantee = self.guarantees[batch.endpoint]
        guarantee.on_served(ended - late, late, late_for_clients, batch.accuracy, batch.promise)
        self.meter.on_served(served)

    def on_reject(self, reject: Reject, slo_s: float) -> None:
        """A query of an endpoint with this objective gets an error.

        That counts against the promise unless the query asked for less time than the objective.
        """
        query = reject.query
        self.stats[query.endpoint].on_reject(reject)
        self.meter.on_violation(query.endpoint)
        if query.allowed_s >= slo_s - ROUNDING_S:
            self.guarantees[query.endpoint].on_refused()
        self._fail(query, reject.error)

    def _fail(self, query: Query, error: Exception) -> None:
        future = self._open.pop(query.id, None)
        if future is not None and not future.done():
            future.set_exception(error)

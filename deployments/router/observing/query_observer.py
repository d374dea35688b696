"""What a router keeps of the queries that it serves, for status, controller and promise."""

from collections.abc import Iterable, Sequence

from catalog.errors import AccordError, DeadlineMissed, Infeasible, Saturated
from deployments.router.observing.meter import RouterMeter
from deployments.router.observing.metrics.batch_totals import BatchTotals
from deployments.router.observing.stats import EndpointStats
from dispatch.commands import Answer, Answers, BatchDone, Reject
from dispatch.load.query_rows import QueryRows
from dispatch.promise.guarantee import GuaranteeMonitor
from dispatch.query import Query
from dispatch.selection.policy import Promise

ROUNDING_S = 1e-6


class QueryObserver:
    """Hears of every query once as it comes and once as it ends, and of every batch.

    ``stats`` are for people, ``meter`` for the controller, ``guarantees`` hold what came against what was promised. The
    meter counts rows, since a worker bears so many rows per second; stats and guarantees count queries. ``batches`` are
    for metrics.
    """

    def __init__(self, endpoints: Iterable[str], now_s: float) -> None:
        names = tuple(endpoints)
        self.meter = RouterMeter()
        self.stats = {name: EndpointStats() for name in names}
        self.guarantees = {name: GuaranteeMonitor(name, now_s) for name in names}
        self.batches = BatchTotals()
        self._decoded = dict.fromkeys(names, 0)
        self._rows = dict.fromkeys(names, 0)
        self._usual = {name: QueryRows() for name in names}

    def on_arrival(self, query: Query) -> None:
        """A query came."""
        self.stats[query.endpoint].arrived += 1
        self._decoded[query.endpoint] += 1
        self._rows[query.endpoint] += query.rows
        self._usual[query.endpoint].on_query(query.rows)
        self.meter.on_arrival(query.endpoint, query.rows)

    def on_sent_on(self, query: Query) -> None:
        """A query that came is another router's from now on, who counts it."""
        self.stats[query.endpoint].arrived -= 1
        self._decoded[query.endpoint] -= 1
        self._rows[query.endpoint] -= query.rows
        self.meter.on_sent_on(query.endpoint, query.rows)

    def on_cancel(self, query: Query) -> None:
        """A query's client left before it had an answer: that is no violation."""
        self.stats[query.endpoint].cancelled += 1

    def on_batch(self, done: BatchDone) -> None:
        """A batch came back, whatever it means for queries."""
        self.meter.on_batch(done)
        if (pool := self.meter.pool_of(done.batch.worker)) is not None:
            self.batches.on_batch(done, pool)
        stats = self.stats.get(done.batch.endpoint)
        if stats is not None:
            stats.totals.on_batch(done)

    def on_answers(self, answers: Answers, slo_s: float, lag_s: float) -> list[Answer]:
        """A batch of an endpoint with this objective has the answers to its queries; gives them.

        Clients get them ``lag_s`` later than they are known here.
        """
        batch = answers.done.batch
        given = list(answers.each())
        self._on_served(batch.endpoint, given, slo_s, lag_s, batch.accuracy, batch.promise)
        return given

    def on_answer(self, answer: Answer, slo_s: float, lag_s: float) -> None:
        """A query of an endpoint with this objective is answered by several batches; nothing was promised of it."""
        self._on_served(answer.query.endpoint, (answer,), slo_s, lag_s, answer.accuracy, None)

    def _on_served(
        self,
        endpoint: str,
        given: Sequence[Answer],
        slo_s: float,
        lag_s: float,
        accuracy: float,
        promise: Promise | None,
    ) -> None:
        stats = self.stats[endpoint]
        late = late_rows = 0
        late_for_clients = 0.0
        for answer in given:
            stats.on_answer(answer)
            allowed_s = max(slo_s, answer.query.allowed_s)
            if answer.latency_s > allowed_s:
                late += 1
                late_rows += answer.query.rows
            late_for_clients += answer.latency_s + lag_s > allowed_s
        self.meter.on_violations(endpoint, late_rows)
        self.guarantees[endpoint].on_served(len(given) - late, late, late_for_clients, accuracy, promise)

    def on_reject(self, reject: Reject, slo_s: float) -> None:
        """A query of an endpoint with this objective gets an error.

        That counts against the promise, and for the planner, unless the query asked for less time than the objective.
        """
        query = reject.query
        self.stats[query.endpoint].on_reject(reject.error)
        if isinstance(reject.error, Saturated | Infeasible):
            self.meter.on_refused(query.endpoint, query.rows)
        elif isinstance(reject.error, DeadlineMissed):
            self.meter.on_expired(query.endpoint, query.rows)
        if query.allowed_s >= slo_s - ROUNDING_S:
            self.meter.on_violations(query.endpoint, query.rows)
            self.guarantees[query.endpoint].on_refused()

    def usual_rows(self, endpoint: str) -> int | None:
        """How many rows queries of the endpoint usually have of late; None where too few came."""
        return self._usual[endpoint].usual

    def likely_rows(self, endpoint: str, queries: int) -> int:
        """Queries that nobody decoded are taken to have as many rows as those that somebody did, and one at least."""
        decoded = self._decoded[endpoint]
        return max(queries, round(queries * self._rows[endpoint] / decoded)) if decoded else queries

    def on_turned_away(self, reject: Reject, slo_s: float) -> None:
        """A query of an endpoint with this objective came and was refused before anybody decoded it."""
        endpoint = reject.query.endpoint
        query = reject.query._replace(rows=self.likely_rows(endpoint, 1))
        self.stats[endpoint].arrived += 1
        self.meter.on_arrival(endpoint, query.rows)
        self.on_reject(Reject(query, reject.error), slo_s)

    def on_limited(self, endpoint: str, error: AccordError) -> None:
        """A client sends more than it may: nobody else is to know of it, neither the promise nor the planner."""
        stats = self.stats[endpoint]
        stats.arrived += 1
        stats.on_reject(error)

    def on_refused_in_front(self, endpoint: str, queries: int, error: AccordError) -> None:
        """Queries of an endpoint, with all of its objective, were refused before they came here."""
        stats, rows = self.stats[endpoint], self.likely_rows(endpoint, queries)
        stats.arrived += queries
        stats.on_reject(error, queries)
        self.meter.on_arrival(endpoint, rows)
        self.meter.on_refused(endpoint, rows)
        self.meter.on_violations(endpoint, rows)
        self.guarantees[endpoint].on_refused(queries)

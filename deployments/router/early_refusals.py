"""Queries that are refused before anybody decodes them: by the router, or by the proxy in front of it."""

from collections import Counter
from collections.abc import Callable, Iterator

from catalog.errors import AccordError, RateLimited, Saturated
from deployments.router.observing.query_observer import QueryObserver
from dispatch.commands import Reject
from dispatch.dispatcher import Dispatcher
from dispatch.query import Query


class EarlyRefusals:
    """Counts them as queries that came and were refused: the load is what is asked, not what is let in.

    Each has as many rows as the endpoint's decoded queries on average (`QueryObserver.likely_rows`).
    ``ids`` and ``clock`` are the router's.
    """

    def __init__(
        self, dispatcher: Dispatcher, observer: QueryObserver, ids: Iterator[int], clock: Callable[[], float]
    ) -> None:
        self._dispatcher = dispatcher
        self._observer = observer
        self._ids = ids
        self._clock = clock
        self._left_over: Counter[str] = Counter()

    def turn_away(self, endpoint: str, arrival_s: float, slo_s: float | None) -> AccordError:
        """Refuse a query that was never decoded, since admission control is sure to refuse it; gives why."""
        queues = self._dispatcher.queues.by_name[endpoint]
        objective_s = queues.plan.slo_s
        deadline_s = arrival_s + (objective_s if slo_s is None else slo_s)
        query = Query(next(self._ids), endpoint, arrival_s, deadline_s, self._observer.likely_rows(endpoint, 1))
        error = queues.turn_away(query, self._clock())
        self._observer.on_turned_away(Reject(query, error), objective_s)
        return error

    def at_the_door(self, endpoint: str, error: AccordError) -> None:
        """A query was refused before its headers were read: for want of room, which is load, or since its client sends
        more than it may, which is none."""
        if isinstance(error, RateLimited):
            self._observer.on_limited(endpoint, error)
        elif (queues := self._dispatcher.queues.by_name.get(endpoint)) is not None:
            queues.on_refused_in_front(self._observer.likely_rows(endpoint, 1), self._clock())
            self._observer.on_refused_in_front(endpoint, 1, error)

    def by_proxy(self, endpoint: str, queries: int, routers: int) -> None:
        """A proxy that sends to so many ``routers`` has refused queries; each router counts its part."""
        queues = self._dispatcher.queues.by_name.get(endpoint)
        if queues is None:
            return
        part, self._left_over[endpoint] = divmod(self._left_over[endpoint] + queries, routers)
        if part:
            error = Saturated("the proxy had as many requests as the routers can answer in time")
            queues.on_refused_in_front(self._observer.likely_rows(endpoint, part), self._clock())
            self._observer.on_refused_in_front(endpoint, part, error)

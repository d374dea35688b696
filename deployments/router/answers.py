"""Who waits for the answers of a router: each query is answered or refused once."""

import asyncio

from catalog.errors import AccordError
from deployments.router.observing.loop_lag import LoopLag
from deployments.router.observing.query_observer import QueryObserver
from dispatch.commands import Answer, Answers, Reject
from dispatch.query import Query


class RouterAnswers:
    """Holds a future per open query; ``lag`` tells how late clients get what is answered in time here."""

    def __init__(self, observer: QueryObserver, lag: LoopLag) -> None:
        self._observer = observer
        self._lag = lag
        self._open: dict[int, asyncio.Future[Answer]] = {}

    def expect(self, query: Query) -> asyncio.Future[Answer]:
        """A query came; gives its answer to be, or the error that it gets."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[query.id] = future
        self._observer.on_arrival(query)
        return future

    def is_open(self, query: Query) -> bool:
        """Whether the query has no answer yet."""
        return query.id in self._open

    def withdraw(self, query: Query) -> bool:
        """Its client waits no longer; gives whether it was still open."""
        return self._open.pop(query.id, None) is not None

    def hand_over(self, query: Query, error: Exception) -> None:
        """The query is another router's from now on; whoever waits for it here gets ``error``."""
        self._observer.on_sent_on(query)
        self._fail(query, error)

    def on_lost(self, query: Query, error: AccordError, slo_s: float) -> AccordError:
        """A query that was another router's gets this error, since nothing came back from there: it counts here."""
        self._observer.on_arrival(query)
        self._observer.on_reject(Reject(query, error), slo_s)
        return error

    def on_answers(self, answers: Answers, slo_s: float) -> None:
        """A batch of an endpoint with this objective has the answers to its queries."""
        for answer in self._observer.on_answers(answers, slo_s, self._lag.mean_s):
            self._give(answer)

    def on_answer(self, answer: Answer, slo_s: float) -> None:
        """A query of an endpoint with this objective is answered."""
        self._observer.on_answer(answer, slo_s, self._lag.mean_s)
        self._give(answer)

    def on_reject(self, reject: Reject, slo_s: float) -> None:
        """A query of an endpoint with this objective gets an error."""
        self._observer.on_reject(reject, slo_s)
        self._fail(reject.query, reject.error)

    def _give(self, answer: Answer) -> None:
        future = self._open.pop(answer.query.id, None)
        if future is not None and not future.done():
            future.set_result(answer)

    def _fail(self, query: Query, error: Exception) -> None:
        future = self._open.pop(query.id, None)
        if future is not None and not future.done():
            future.set_exception(error)

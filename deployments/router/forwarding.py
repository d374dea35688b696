"""Queries that a router gives to another one, since none of its own workers can answer."""

import asyncio
from collections.abc import Callable

from catalog.errors import NoWorker
from deployments.messages.control import RoutingTable
from deployments.router.answers import RouterAnswers
from deployments.router.peers import NoAnswer, Peers
from dispatch.commands import Answer
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan
from dispatch.query import Query

LATE_S = 10.0
"""A peer is waited for until so long after the query's deadline, or as long as the query had, if that is more."""


class Elsewhere(Exception):
    """A query that waited here is to be answered by a peer."""

    def __init__(self, peer: str) -> None:
        super().__init__(peer)
        self.peer = peer


class Forwarding:
    """Finds peers and asks them; a query that a peer forwarded stays where it is.

    Without ``peers`` every query stays. Peers count what they are sent; ``answers``, the router's, what no answer comes
    for. ``clock`` is the router's.
    """

    def __init__(self, peers: Peers | None, answers: RouterAnswers, clock: Callable[[], float]) -> None:
        self._peers = peers
        self._answers = answers
        self._clock = clock
        self._kept: set[int] = set()

    def keep(self, query: Query) -> None:
        """A peer has forwarded the query: it may not be forwarded a second time."""
        self._kept.add(query.id)

    def forget(self, query: Query) -> None:
        """The query has ended."""
        self._kept.discard(query.id)

    def send_on(self, dispatcher: Dispatcher, routing: RoutingTable | None) -> None:
        """What waits here for a worker that others have goes there; it may not be forwarded a second time."""
        for name, endpoint in dispatcher.plan.endpoints.items():
            for query in dispatcher.queues.unserved(name):
                may_go = query.id not in self._kept and self._answers.is_open(query)
                if may_go and (peer := self.peer(endpoint, routing)) is not None:
                    dispatcher.on_cancel(query)
                    self._answers.hand_over(query, Elsewhere(peer))

    def peer(self, endpoint: EndpointPlan, routing: RoutingTable | None) -> str | None:
        """A router that has workers for the endpoint; None where there is no other."""
        return None if self._peers is None else self._peers.for_endpoint(endpoint, routing)

    def able(self, endpoint: EndpointPlan, routing: RoutingTable | None) -> bool:
        """Whether some other router has workers for the endpoint."""
        return self._peers is not None and bool(self._peers.able(endpoint, routing))

    async def ask(self, peer: str, query: Query, endpoint: EndpointPlan, routing: RoutingTable | None) -> Answer:
        """The peer's answer, with this ``query``, by this router's clock.

        Where none comes back others that have workers for the ``endpoint`` are asked, each once, while the query has
        time left; raises `NoWorker` where there is no other. Machines have clocks of their own, so that the answer is
        taken to be done when it is here: what it took on the way counts. It comes without the query's inputs.
        """
        assert self._peers is not None
        asked = {peer}
        while True:
            try:
                answer = await self._answer_of(self._peers, peer, query)
                break
            except NoAnswer as error:
                in_time = self._clock() < query.deadline_s
                other = self._peers.for_endpoint(endpoint, routing, asked) if in_time else None
                if other is None:
                    raise self._answers.on_lost(query, NoWorker(str(error)), endpoint.slo_s) from error
            peer = other
            asked.add(peer)
        now_s = self._clock()
        launched_s = max(answer.launched_s + now_s - answer.done_s, query.arrival_s)
        return answer._replace(query=query._replace(inputs={}), launched_s=launched_s, done_s=now_s)

    async def _answer_of(self, peers: Peers, peer: str, query: Query) -> Answer:
        """As the peer gives it. A peer that hangs raises nothing, so that it is not waited for without end."""
        age_s = max(self._clock() - query.arrival_s, 0.0)
        within_s = max(query.allowed_s - age_s, 0.0) + max(query.allowed_s, LATE_S)
        inputs, priority = dict(query.inputs), query.priority
        try:
            async with asyncio.timeout(within_s):
                return await peers.infer(
                    peer, query.endpoint, inputs, query.rows, query.allowed_s, query.accuracy, priority, age_s
                )
        except TimeoutError as error:
            raise NoAnswer(query.endpoint, peer, f"within {within_s:.1f} s") from error

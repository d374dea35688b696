"""Queries that a router gives to another one, since none of its own workers can answer."""

from collections.abc import Callable

from deployments.messages.control import RoutingTable
from deployments.router.peers import Peers
from dispatch.commands import Answer
from dispatch.plan import EndpointPlan
from dispatch.query import Query


class Elsewhere(Exception):
    """A query that waited here is to be answered by a peer."""

    def __init__(self, peer: str) -> None:
        super().__init__(peer)
        self.peer = peer


class Forwarding:
    """Finds peers and asks them; a query that a peer forwarded stays where it is.

    Without ``peers`` every query stays. ``clock`` is the router's.
    """

    def __init__(self, peers: Peers | None, clock: Callable[[], float]) -> None:
        self._peers = peers
        self._clock = clock
        self._kept: set[int] = set()

    def keep(self, query: Query) -> None:
        """A peer has forwarded the query: it may not be forwarded a second time."""
        self._kept.add(query.id)

    def forget(self, query: Query) -> None:
        """The query has ended."""
        self._kept.discard(query.id)

    def may_go(self, query: Query) -> bool:
        """Whether the query may be forwarded."""
        return query.id not in self._kept

    def peer(self, endpoint: EndpointPlan, routing: RoutingTable | None) -> str | None:
        """A router that has workers for the endpoint; None where there is no other."""
        return None if self._peers is None else self._peers.for_endpoint(endpoint, routing)

    def able(self, endpoint: EndpointPlan, routing: RoutingTable | None) -> bool:
        """Whether some other router has workers for the endpoint."""
        return self._peers is not None and bool(self._peers.able(endpoint, routing))

    async def ask(self, peer: str, query: Query) -> Answer:
        """The peer's answer, in what is left of the query's time: with this ``query``, by this router's clock.

        Machines have clocks of their own, so that the answer is taken to be done when it is here: what it took on the
        way counts. It comes without the query's inputs.
        """
        assert self._peers is not None
        left_s = max(query.deadline_s - self._clock(), 0.0)
        inputs = dict(query.inputs)
        asked = (query.endpoint, inputs, query.rows, left_s, query.accuracy, query.priority)
        answer = await self._peers.infer(peer, *asked)
        now_s = self._clock()
        launched_s = max(answer.launched_s + now_s - answer.done_s, query.arrival_s)
        return answer._replace(query=query._replace(inputs={}), launched_s=launched_s, done_s=now_s)

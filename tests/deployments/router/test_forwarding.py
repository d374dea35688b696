"""Queries that another router answers: in what is left of their time, by the clock of the router that was asked."""

from typing import cast

import pytest

from catalog.tensor import Arrays
from deployments.router.forwarding import Forwarding
from deployments.router.peers import Peers
from dispatch.commands import Answer
from dispatch.query import NORMAL_PRIORITY, Query

PEERS_CLOCK_S = 9_000.0
"""By which the peer's clock is ahead: it may be another machine's."""

WAY_S, WAIT_S, RUN_S = 0.010, 0.030, 0.020


class PlayedPeers:
    """A peer that lets a query wait and runs it; ``now_s`` is the asking router's clock."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self.slo_s: float | None = None
        self.priority: int | None = None

    async def infer(
        self,
        peer: str,
        endpoint: str,
        inputs: Arrays,
        rows: int,
        slo_s: float,
        accuracy: float | None,
        priority: int = NORMAL_PRIORITY,
    ) -> Answer:
        self.slo_s, self.priority = slo_s, priority
        came_s = self.now_s + WAY_S + PEERS_CLOCK_S
        launched_s, done_s = came_s + WAIT_S, came_s + WAIT_S + RUN_S
        self.now_s = done_s + WAY_S - PEERS_CLOCK_S
        query = Query(77, endpoint, came_s, came_s + slo_s, rows, {}, accuracy)
        return Answer(query, "double", 0.9, {"y": [2.0]}, 1, launched_s, done_s, RUN_S)


async def asked(query: Query, now_s: float) -> tuple[PlayedPeers, Answer]:
    played = PlayedPeers(now_s)
    forwarding = Forwarding(cast(Peers, played), lambda: played.now_s)
    return played, await forwarding.ask("r2", query)


def query(deadline_s: float) -> Query:
    return Query(5, "digits", 100.0, deadline_s, 1, {"x": [1.0]}, 0.5)


async def test_the_answer_is_of_the_clients_query_by_the_clock_of_the_router_that_it_asked() -> None:
    played, answer = await asked(query(100.2), now_s=100.05)
    assert played.slo_s == pytest.approx(0.15)
    assert answer.query == query(100.2)._replace(inputs={})
    assert answer.latency_s == pytest.approx(0.05 + 2 * WAY_S + WAIT_S + RUN_S)
    assert answer.queue_s == pytest.approx(answer.latency_s - RUN_S)
    assert answer.deadline_met
    assert (answer.variant, answer.outputs, answer.run_s) == ("double", {"y": [2.0]}, RUN_S)


async def test_a_query_without_any_time_left_is_late_and_had_what_its_client_gave_it() -> None:
    played, answer = await asked(query(100.2), now_s=100.3)
    assert played.slo_s == 0.0
    assert answer.query.allowed_s == pytest.approx(0.2)
    assert not answer.deadline_met


async def test_an_answer_that_is_late_for_the_way_back_alone_is_late() -> None:
    _, answer = await asked(query(100.0 + WAY_S + WAIT_S + RUN_S), now_s=100.0)
    assert not answer.deadline_met


async def test_no_time_of_an_answer_is_before_the_query() -> None:
    _, answer = await asked(query(101.0)._replace(arrival_s=100.05), now_s=100.0)
    assert answer.queue_s >= 0.0


async def test_a_query_keeps_its_priority_at_the_peer() -> None:
    for priority in (1, NORMAL_PRIORITY, 5):
        played, answer = await asked(query(100.2)._replace(priority=priority), now_s=100.05)
        assert played.priority == answer.query.priority == priority

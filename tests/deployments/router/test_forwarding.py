"""Queries that another router answers: in what is left of their time, by the clock of the router that was asked."""

import asyncio
from collections.abc import Set
from typing import cast

import numpy as np
import pytest

from catalog.errors import NoWorker
from catalog.tensor import Arrays
from deployments.messages.control import RoutingTable
from deployments.router.answers import RouterAnswers
from deployments.router.forwarding import LATE_S, Forwarding
from deployments.router.observing.loop_lag import LoopLag
from deployments.router.observing.query_observer import QueryObserver
from deployments.router.peers import NoAnswer, Peers
from deployments.router.router import Router
from dispatch.commands import Answer
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import NORMAL_PRIORITY, Query
from router_scene import digits, now_s, routing, routing_table, settled, virtually

PEERS_CLOCK_S = 9_000.0
"""By which the peer's clock is ahead: it may be another machine's."""

WAY_S, WAIT_S, RUN_S = 0.010, 0.030, 0.020


class PlayedPeers:
    """A peer that lets a query wait and runs it; ``now_s`` is the asking router's clock."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self.slo_s: float | None = None
        self.age_s: float | None = None
        self.priority: int | None = None

    async def infer(
        self,
        peer: str,
        endpoint: str,
        inputs: Arrays,
        rows: int,
        slo_s: float,
        accuracy: float | None,
        priority: int,
        age_s: float,
    ) -> Answer:
        self.slo_s, self.age_s, self.priority = slo_s, age_s, priority
        came_s = self.now_s + WAY_S + PEERS_CLOCK_S
        launched_s, done_s = came_s + WAIT_S, came_s + WAIT_S + RUN_S
        self.now_s = done_s + WAY_S - PEERS_CLOCK_S
        query = Query(77, endpoint, came_s - age_s, came_s - age_s + slo_s, rows, {}, accuracy)
        return Answer(query, "double", 0.9, {"y": [2.0]}, 1, launched_s, done_s, RUN_S)


async def asked(query: Query, now_s: float) -> tuple[PlayedPeers, Answer]:
    played = PlayedPeers(now_s)
    answers = RouterAnswers(QueryObserver(["digits"], 0.0), LoopLag())
    forwarding = Forwarding(cast(Peers, played), answers, lambda: played.now_s)
    return played, await forwarding.ask("r2", query, digits(), None)


def query(deadline_s: float) -> Query:
    return Query(5, "digits", 100.0, deadline_s, 1, {"x": [1.0]}, 0.5)


async def test_the_answer_is_of_the_clients_query_by_the_clock_of_the_router_that_it_asked() -> None:
    played, answer = await asked(query(100.2), now_s=100.05)
    assert (played.slo_s, played.age_s) == (pytest.approx(0.2), pytest.approx(0.05))
    assert answer.query == query(100.2)._replace(inputs={})
    assert answer.latency_s == pytest.approx(0.05 + 2 * WAY_S + WAIT_S + RUN_S)
    assert answer.queue_s == pytest.approx(answer.latency_s - RUN_S)
    assert answer.deadline_met
    assert (answer.variant, answer.outputs, answer.run_s) == ("double", {"y": [2.0]}, RUN_S)


async def test_a_query_without_any_time_left_is_late_and_had_what_its_client_gave_it() -> None:
    played, answer = await asked(query(100.2), now_s=100.3)
    assert (played.slo_s, played.age_s) == (pytest.approx(0.2), pytest.approx(0.3))
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


HANGS, DEAD = "hangs", "dead"


class Ways:
    """The way to other routers by name: to real ones, to one that hangs (`HANGS`), or to one that is dead (`DEAD`)."""

    def __init__(self, **routers: Router | str) -> None:
        self.routers = routers
        self.asked: list[str] = []

    def follow(self) -> None:
        """Nobody need be found."""

    def for_endpoint(
        self, endpoint: EndpointPlan, routing_table: RoutingTable | None, without: Set[str] = frozenset()
    ) -> str | None:
        return min(self.routers.keys() - without, default=None)

    def able(self, endpoint: EndpointPlan, routing_table: RoutingTable | None) -> list[str]:
        return sorted(self.routers)

    async def infer(
        self,
        peer: str,
        endpoint: str,
        inputs: Arrays,
        rows: int,
        slo_s: float,
        accuracy: float | None,
        priority: int,
        age_s: float,
    ) -> Answer:
        self.asked.append(peer)
        await asyncio.sleep(WAY_S)
        router = self.routers[peer]
        if router == HANGS:
            await asyncio.Event().wait()
        if isinstance(router, str):
            raise NoAnswer(endpoint, peer, "(ActorDiedError)")
        return await router.infer_for_peer(endpoint, inputs, rows, slo_s, accuracy, priority, age_s)


def forwarding_router(**routers: Router | str) -> tuple[Router, Ways]:
    """One without workers, whose peers are these."""
    ways = Ways(**routers)
    return Router("r1", Plan(1, {"digits": digits()}), {}, cast(Peers, ways), now_s), ways


async def ask(router: Router, age_s: float = 0.0, slo_s: float | None = None) -> float:
    answer = await router.infer("digits", {"x": np.array([2.0])}, 1, slo_s, arrival_s=now_s() - age_s)
    return float(answer.outputs["y"][0])


def counts(router: Router) -> tuple[int, int, int, int]:
    """Queries that arrived and were rejected, and violations of the promise and for the planner."""
    seen = router.status()["endpoints"]["digits"]
    violated = router.observer.meter.report(1, router.router_state()).violated
    return seen["arrived"], seen["rejected"], router.observer.guarantees["digits"].violations, violated.get("digits", 0)


@virtually
async def test_a_query_with_its_whole_objective_that_a_peer_refuses_violates_the_promise_there() -> None:
    async with routing() as scene:
        router, _ = forwarding_router(r2=scene.router)
        with pytest.raises(NoWorker, match="came before the deadline"):
            await ask(router, age_s=0.01)
        assert counts(scene.router) == (1, 1, 1, 1)
        with pytest.raises(NoWorker, match="came before the deadline"):
            await ask(router, age_s=0.01, slo_s=0.05)
        assert counts(scene.router) == (2, 2, 1, 0), "one that asked for less time than the objective does not"
        assert counts(router) == (0, 0, 0, 0), "the peer counts it"


@virtually
async def test_an_answer_is_late_at_a_peer_by_when_the_query_came_to_the_router_that_sent_it_on() -> None:
    async with routing() as scene:
        await scene.join("w1")
        scene.pool.run_s = 0.095
        router, _ = forwarding_router(r2=scene.router)
        for age_s, of_promise, for_planner in ((0.0, 0, 0), (0.01, 1, 1), (0.3, 2, 1)):
            assert await ask(router, age_s) == 4.0
            assert counts(scene.router)[2:] == (of_promise, for_planner)


@virtually
async def test_a_peer_that_hangs_is_waited_for_for_some_time_and_the_query_counts_here() -> None:
    for slo_s, more_s in ((0.1, LATE_S), (60.0, 60.0)):
        router, ways = forwarding_router(r2=HANGS)
        began_s = now_s()
        with pytest.raises(NoWorker, match=rf"router r2 .* did not answer within {slo_s + more_s:.1f} s; try again"):
            await ask(router, slo_s=slo_s)
        assert now_s() - began_s == pytest.approx(slo_s + more_s)
        assert ways.asked == ["r2"]
        assert counts(router) == (1, 1, 1, 1)


@virtually
async def test_the_next_peer_is_asked_where_one_is_dead() -> None:
    async with routing() as scene:
        await scene.join("w1")
        router, ways = forwarding_router(r2=DEAD, r3=scene.router)
        assert await ask(router) == 4.0
        assert ways.asked == ["r2", "r3"]
        assert counts(router) == (0, 0, 0, 0)
        assert counts(scene.router) == (1, 0, 0, 0)


@virtually
async def test_a_query_that_no_peer_answers_is_refused_and_counts_once() -> None:
    router, ways = forwarding_router(r2=DEAD, r3=DEAD)
    with pytest.raises(NoWorker, match=r"router r3 .* did not answer \(ActorDiedError\)") as caught:
        await ask(router)
    assert type(caught.value) is NoWorker, "counts of refusals go by type"
    assert ways.asked == ["r2", "r3"]
    assert counts(router) == (1, 1, 1, 1)


@virtually
async def test_no_other_peer_is_asked_when_the_querys_time_is_up() -> None:
    router, ways = forwarding_router(r2=DEAD, r3=DEAD)
    with pytest.raises(NoWorker, match="router r2"):
        await ask(router, age_s=0.1 - WAY_S / 2)
    assert ways.asked == ["r2"]


@virtually
async def test_a_query_that_waited_here_and_is_sent_on_in_vain_counts_once() -> None:
    router, ways = forwarding_router()
    waiting = asyncio.create_task(ask(router, slo_s=30.0))
    await settled()
    ways.routers["r2"] = DEAD
    router.follow(routing_table(1, {}))
    with pytest.raises(NoWorker, match="router r2"):
        await waiting
    assert counts(router) == (1, 1, 1, 1)

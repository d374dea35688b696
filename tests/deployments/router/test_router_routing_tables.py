"""What a router makes of the controller's routing tables, and what it leaves to other routers."""

import asyncio
from collections.abc import Set
from typing import cast

import numpy as np
import pytest

from catalog.errors import NoWorker
from catalog.tensor import Arrays
from deployments.messages.control import RoutingTable
from deployments.router.peers import Peers
from deployments.router.workers import FIRST_WORKERS_S, LEAVE_S
from dispatch.commands import Answer
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import NORMAL_PRIORITY
from router_scene import (
    BOTH,
    ME,
    TRIPLE,
    by_tables,
    now_s,
    routing,
    routing_table,
    service,
    settled,
    virtually,
)


@virtually
async def test_plan_and_holdings_switch_at_one_instant_so_that_what_waited_runs_on_what_is_served_now() -> None:
    async with routing() as scene:
        scene.pool.run_s = 1.0
        await scene.join("w1")
        running = asyncio.create_task(scene.ask(1.0))
        waiting = [asyncio.create_task(scene.ask(float(i))) for i in (2, 3)]
        await settled()
        assert scene.pool.batches == [("w1", "double", 1)]
        await scene.follow(w1=("triple",), endpoint=service({"pool": (TRIPLE,)}, {"w1": 1.0}))
        assert not running.done()
        assert await running == 2.0, "the batch that runs is not disturbed"
        assert await asyncio.gather(*waiting) == [6.0, 9.0]
        assert scene.pool.batches == [("w1", "double", 1), ("w1", "triple", 2)]


@virtually
async def test_what_waits_for_a_worker_that_leaves_goes_to_those_that_stay() -> None:
    async with routing() as scene:
        scene.pool.run_s = 1.0
        await scene.join("w1", "w2")
        asked = [asyncio.create_task(scene.ask(float(i))) for i in range(4)]
        await settled()
        await scene.follow("w2")
        assert await asyncio.gather(*asked) == [0.0, 2.0, 4.0, 6.0]
        assert scene.pool.batches == [("w1", "double", 1), ("w2", "double", 1), ("w2", "double", 2)]


@virtually
async def test_an_older_routing_table_is_ignored_and_so_is_the_same_once_more() -> None:
    async with routing() as scene:
        await scene.join("w1")
        scene.router.follow(routing_table(7, {"w1": ("triple",)}))
        plan = scene.router.plan
        for version in (6, 7):
            scene.router.follow(routing_table(version, {"w1": ("double",)}, endpoint=service(slo_s=3.0)))
        assert scene.router.following == 7
        assert scene.router.plan is plan
        assert await scene.ask(1.0) == 3.0


@virtually
async def test_the_objective_of_a_routing_table_is_the_deadline_of_queries_from_then_on() -> None:
    async with routing() as scene:
        await scene.follow(endpoint=service(slo_s=2.0))
        waiting = asyncio.create_task(scene.ask(1.0, slo_s=None))
        await asyncio.sleep(1.9)
        assert not waiting.done()
        with pytest.raises(NoWorker):
            await waiting


@virtually
async def test_a_routing_table_may_let_late_queries_be_dropped_that_wait_already() -> None:
    async with routing() as scene:
        scene.pool.hanging.add("w1")
        await scene.join("w1")
        tasks = []
        for number in range(3):
            tasks.append(asyncio.create_task(scene.ask(float(number), slo_s=0.5)))
            await asyncio.sleep(0.1)
        await scene.follow("w1", endpoint=service(drop_late=True))
        await asyncio.sleep(0.5)
        assert [task.done() for task in tasks] == [False, False, True], "the second was launched behind the first"
        assert tasks[2].exception() is not None
        for task in tasks[:2]:
            task.cancel()


@virtually
async def test_tables_stay_in_force_under_a_routing_table_and_routing_tables_under_new_tables() -> None:
    async with routing(Plan(1, {"digits": by_tables()})) as scene:
        await scene.join("w1")
        assert await scene.ask(1.0, slo_s=None) == 3.0, "the tables know one variant"
        plan = scene.router.plan
        assert plan.endpoints["digits"].stage.selection.name == "ramsis"
        scene.router.apply(Plan(plan.version + 1, plan.endpoints))
        await scene.follow(w1=("double", "triple"))
        assert scene.router.plan.version == plan.version + 2
        assert await scene.ask(1.0, slo_s=None) == 3.0


@virtually
async def test_the_state_says_what_is_followed_and_who_is_used() -> None:
    async with routing() as scene:
        router_state = scene.router.router_state()
        assert (router_state.router, router_state.following, router_state.using) == (ME, 0, frozenset())
        await scene.join("w1", "w2")
        router_state = scene.router.router_state()
        assert (router_state.following, router_state.using) == (1, {"w1", "w2"})


# -- a router that has just started ---------------------------------------------------------------------------


@virtually
async def test_a_new_router_keeps_queries_beyond_their_deadlines_until_its_first_worker_has_joined() -> None:
    async with routing() as scene:
        before_the_table = asyncio.create_task(scene.ask(1.0, slo_s=None))
        await scene.members("w1")
        scene.router.follow(routing_table(1, {"w1": BOTH}, {"w1": "r0"}))
        scene.version = 1
        behind_it = asyncio.create_task(scene.ask(2.0, slo_s=None))
        await asyncio.sleep(1.0)
        assert scene.queued == 2
        await scene.follow("w1")
        assert await asyncio.gather(before_the_table, behind_it) == [2.0, 4.0]


@virtually
async def test_a_new_router_whose_workers_do_not_come_says_so_in_the_end() -> None:
    async with routing() as scene:
        scene.router.follow(routing_table(1, {"w1": BOTH}, {"w1": "r0"}))
        with pytest.raises(NoWorker):
            await scene.ask(1.0, slo_s=None)
        assert now_s() == pytest.approx(FIRST_WORKERS_S)
        with pytest.raises(NoWorker):
            await scene.ask(1.0, slo_s=0.1)
        assert now_s() == pytest.approx(FIRST_WORKERS_S + 0.1)


@virtually
async def test_a_new_router_waits_for_nobody_where_no_worker_serves_the_endpoint() -> None:
    async with routing() as scene:
        waiting = asyncio.create_task(scene.ask(1.0, slo_s=None))
        await settled()
        scene.router.follow(routing_table(1, {"w1": ("other",)}))
        with pytest.raises(NoWorker):
            await waiting
        assert now_s() == pytest.approx(0.1)


@virtually
async def test_a_router_that_has_lost_all_its_workers_does_not_keep_queries_beyond_their_deadlines() -> None:
    async with routing() as scene:
        await scene.join("w1")
        await scene.members()
        with pytest.raises(NoWorker):
            await scene.ask(1.0, slo_s=None)
        assert now_s() == pytest.approx(0.1)


# -- peers ----------------------------------------------------------------------------------------------------


class PlayedPeers:
    """Peers of which ``peer`` is always asked; keeps what came, with the time that it had left."""

    def __init__(self, peer: str | None) -> None:
        self.peer = peer
        self.asked: list[tuple[str, str, float]] = []

    def follow(self) -> None:
        """Nobody need be found."""

    def for_endpoint(
        self, endpoint: EndpointPlan, routing_table: RoutingTable | None, without: Set[str] = frozenset()
    ) -> str | None:
        return self.peer

    def able(self, endpoint: EndpointPlan, routing_table: RoutingTable | None) -> list[str]:
        return [] if self.peer is None else [self.peer]

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
        self.asked.append((peer, endpoint, slo_s - age_s))
        raise NoWorker("played")


@virtually
async def test_a_query_goes_to_a_peer_only_where_no_worker_of_ones_own_serves_its_endpoint() -> None:
    peers = PlayedPeers("r2")
    async with routing(peers=cast(Peers, peers)) as scene:
        with pytest.raises(NoWorker, match="played"):
            await scene.ask(1.0, slo_s=None)
        assert peers.asked == [("r2", "digits", 0.1)]
        await scene.join("w1")
        assert await scene.ask(1.0) == 2.0
        assert len(peers.asked) == 1


@virtually
async def test_a_query_that_a_peer_sent_is_not_sent_on_and_waits_here() -> None:
    peers = PlayedPeers("r2")
    async with routing(peers=cast(Peers, peers)) as scene:
        with pytest.raises(NoWorker, match="no worker that holds a variant"):
            await scene.router.infer_for_peer("digits", {"x": np.array([1.0])}, 1, 0.05)
        assert peers.asked == []
        await scene.join("w1")
        answer = await scene.router.infer_for_peer("digits", {"x": np.array([4.0])}, 1, 0.05)
        assert answer.outputs["y"].tolist() == [8.0]
        assert (answer.query.inputs, answer.query.priority) == ({}, NORMAL_PRIORITY)
        answer = await scene.router.infer_for_peer("digits", {"x": np.array([4.0])}, 1, 0.05, None, 1)
        assert answer.query.priority == 1


@virtually
async def test_what_waits_goes_to_a_peer_when_the_last_worker_of_ones_own_is_lost_and_what_runs_there_with_it() -> None:
    peers = PlayedPeers(None)
    async with routing(peers=cast(Peers, peers)) as scene:
        scene.pool.hanging.add("w1")
        await scene.join("w1")
        asked = [asyncio.create_task(scene.ask(float(i), slo_s=30.0)) for i in range(3)]
        await settled()
        peers.peer = "r2"
        await scene.follow()
        assert [slo_s for _, _, slo_s in peers.asked] == [30.0, 30.0], "the batch that runs is waited for"
        await asyncio.sleep(LEAVE_S)
        await settled()
        assert [slo_s for _, _, slo_s in peers.asked] == pytest.approx([30.0, 30.0, 30.0 - LEAVE_S])
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == ["played"] * 3
        assert scene.queued == 0


@virtually
async def test_a_query_that_waits_goes_to_a_peer_once_one_has_a_worker() -> None:
    peers = PlayedPeers(None)
    async with routing(peers=cast(Peers, peers)) as scene:
        waiting = asyncio.create_task(scene.ask(1.0, slo_s=30.0))
        await asyncio.sleep(10.0)
        peers.peer = "r2"
        await scene.follow()
        with pytest.raises(NoWorker, match="played"):
            await waiting
        assert peers.asked == [("r2", "digits", pytest.approx(20.0))]
        assert scene.router.ready("digits")


@virtually
async def test_a_query_that_a_peer_sent_waits_on_when_the_last_worker_is_lost() -> None:
    peers = PlayedPeers("r2")
    async with routing(peers=cast(Peers, peers)) as scene:
        scene.pool.hanging.add("w1")
        await scene.join("w1")
        inputs = {"x": np.array([4.0])}
        sent = [asyncio.create_task(scene.router.infer_for_peer("digits", inputs, 1, 30.0)) for _ in range(2)]
        await settled()
        await scene.follow()
        await asyncio.sleep(LEAVE_S + 1.0)
        assert peers.asked == []
        scene.pool.hanging.clear()
        await scene.follow("w1")
        for answer in await asyncio.gather(*sent):
            assert answer.outputs["y"].tolist() == [8.0]


@virtually
async def test_a_client_that_goes_while_its_query_is_sent_on_leaves_nothing_behind() -> None:
    peers = PlayedPeers(None)
    async with routing(peers=cast(Peers, peers)) as scene:
        waiting = asyncio.create_task(scene.ask(1.0, slo_s=30.0))
        await settled()
        peers.peer = "r2"
        scene.router.follow(routing_table(1, {}))
        waiting.cancel()
        await settled()
        assert waiting.cancelled()
        assert peers.asked == []
        assert scene.queued == 0

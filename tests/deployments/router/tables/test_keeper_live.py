"""Tables in the background of a real router, in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any, cast

import pytest
from table_keeper_scene import HIGHEST_QPS, PlayedMaker, by_tables

from deployments.router.tables.keeper import LONG_REST, PAUSE_S, REST, RETRY_S, TableKeeper
from deployments.router.tables.making import TableMaker
from dispatch.plan import Plan
from dispatch.selection.ramsis.problem import Balancing
from router_scene import DOUBLE, routing, service, virtually
from router_scene import Scene as RouterScene
from router_scene import now_s as loop_s


@asynccontextmanager
async def serving(maker: PlayedMaker, busy_share: float = 0.0) -> AsyncIterator[tuple[RouterScene, TableKeeper]]:
    """A router with one worker that serves the variant ``double``, by tables once there are some."""
    async with routing(Plan(1, {"digits": by_tables()})) as scene:
        await scene.members("w1")
        await scene.follow("w1", endpoint=service({"cpu": (DOUBLE,)}))
        balancing: dict[str, Balancing] = {"digits": "round_robin"}
        yield (
            scene,
            TableKeeper(scene.router, balancing, cast(TableMaker, maker), loop_s, HIGHEST_QPS, lambda: busy_share),
        )


def tables_of(scene: RouterScene) -> dict[str, Any]:
    return dict(scene.router.status()["endpoints"]["digits"]["tables"])


@virtually
async def test_queries_are_answered_from_the_start_and_by_tables_once_these_are_there() -> None:
    async with serving(PlayedMaker(takes_s=0.5)) as (scene, keeper):
        keeping = asyncio.create_task(keeper.run())
        assert await scene.ask(1.0, slo_s=None) == 2.0
        assert tables_of(scene)["state"] == "none"
        await asyncio.sleep(0.6)
        seen = tables_of(scene)
        assert (seen["state"], seen["made"]) == ("exact", 1)
        assert seen["wanted"] > 1
        assert await scene.ask(2.0, slo_s=None) == 4.0
        keeping.cancel()


@virtually
async def test_before_the_service_is_ready_tables_get_a_bounded_time() -> None:
    async with serving(PlayedMaker(takes_s=0.8)) as (scene, keeper):
        began_s = loop_s()
        await keeper.first(2.0)
        assert loop_s() - began_s == pytest.approx(2.0)
        assert tables_of(scene)["made"] == 2
    async with serving(PlayedMaker(broken=True, takes_s=0.1)) as (scene, keeper):
        await keeper.first(2.0)
        assert tables_of(scene)["state"] == "none"


@virtually
async def test_what_fails_is_tried_again_and_again() -> None:
    maker = PlayedMaker(broken=True, takes_s=0.1)
    async with serving(maker) as (scene, keeper):
        keeping = asyncio.create_task(keeper.run())
        await asyncio.sleep(2.5 * RETRY_S)
        assert len(maker.problems) == 3
        maker.broken = False
        await asyncio.sleep(RETRY_S)
        assert tables_of(scene)["state"] == "exact"
        keeping.cancel()


@virtually
async def test_on_a_busy_machine_tables_are_made_with_rests_and_none_ahead_of_time() -> None:
    idle, busy, full = (PlayedMaker(takes_s=0.1) for _ in range(3))
    shortest_s = []
    for maker, busy_share in ((idle, 0.2), (busy, 0.7), (full, 0.8)):
        made_s: list[float] = []
        maker.meanwhile = lambda made_s=made_s: made_s.append(loop_s())
        async with serving(maker, busy_share) as (scene, keeper):
            keeping = asyncio.create_task(keeper.run())
            await asyncio.sleep(20.0)
            assert tables_of(scene)["state"] == "exact"
            assert len(maker.problems) > 30 if maker is idle else len(maker.problems) < 10
            await _rising_load(scene)
            shortest_s.append(min(later - sooner for sooner, later in pairwise(made_s)))
            keeping.cancel()
    assert shortest_s == pytest.approx([0.1 + PAUSE_S, 0.1 + REST * 0.1, 0.1 + LONG_REST * 0.1])


@virtually
async def test_a_process_that_had_to_wait_for_a_core_has_rested_meanwhile() -> None:
    """Beside a process that never rests a table takes long: then the next does not have to wait for long too."""
    maker = PlayedMaker(takes_s=4.0, at_work=0.1)
    made_s: list[float] = []
    maker.meanwhile = lambda: made_s.append(loop_s())
    async with serving(maker, busy_share=0.9) as (scene, keeper):
        keeping = asyncio.create_task(keeper.run())
        for _ in range(4):
            await _rising_load(scene)
        keeping.cancel()
    assert min(later - sooner for sooner, later in pairwise(made_s)) == pytest.approx(0.4 + LONG_REST * 0.4)


async def _rising_load(scene: RouterScene) -> None:
    """Tables near it are wanted."""
    for number in range(40):
        await scene.ask(1.0, slo_s=None)
        await asyncio.sleep(max(0.01, 0.4 - 0.01 * number))

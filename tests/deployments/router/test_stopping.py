"""A router that Serve stops, and one that waits for its workers; `tests/serve_app/test_deployed.py` has both live."""

import asyncio
from dataclasses import replace

from deployments.router.stopping import stopping
from deployments.router.workers import FIRST_WORKERS_S
from router_scene import BOTH, ME, routing, routing_table, virtually


def test_a_process_that_is_no_replica_is_not_stopped() -> None:
    assert not stopping()


@virtually
async def test_a_router_without_workers_waits_for_those_of_one_that_leaves_however_long_it_has_been_there() -> None:
    async with routing() as scene:
        await asyncio.sleep(2 * FIRST_WORKERS_S)
        await scene.members("w1")
        leaving = routing_table(1, {"w1": BOTH}, {"w1": "r0"})
        scene.router.follow(replace(leaving, routers=frozenset({ME})))
        scene.version = 1
        asked = asyncio.create_task(scene.ask(1.0, slo_s=0.1))
        await asyncio.sleep(0.5)
        await scene.follow("w1")
        assert await asked == 2.0

"""Connections that `accord-haproxy` keeps and ends: real HAProxy, routers of a few lines."""

import asyncio
import csv
import time

import aiohttp
import pytest
from aiohttp import web

from haproxy_scene import BACKEND, Manager, Upstream, call, managed, served
from serve_app.proxy.admin_socket import ask

pytestmark = pytest.mark.timeout(180)

MOST = 400
"""Connections that clients may have."""


def unlimited() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=60))


async def reused(manager: Manager) -> tuple[int, int]:
    """Connections that HAProxy opened to the router, and requests that went over one that was there."""
    text = (await ask(f"{manager.folder}/h.sock", f"show stat {BACKEND} 4 -1")).decode()
    (row,) = [row for row in csv.DictReader(text.removeprefix("# ").splitlines()) if row["svname"] == "r0"]
    return int(row["connect"]), int(row["reuse"])


async def test_refused_clients_make_way_for_those_who_wait_for_a_connection() -> None:
    hold = asyncio.Event()
    hold.set()

    async def held(request: web.BaseRequest) -> web.Response:
        await hold.wait()
        return web.Response(text="fine", headers={"x-accord-wait": "101"})  # its window does not grow

    with managed({"RAY_SERVE_HAPROXY_MAXCONN": str(MOST)}) as manager:
        async with Upstream(held) as router, unlimited() as client:
            await served(client, manager, router)
            hold.clear()
            asked = [asyncio.create_task(call(client, manager)) for _ in range(3 * MOST)]
            end_s = time.monotonic() + 30  # far below the minute and a half for which idle connections are kept
            while sum(task.done() and task.result()[0] == 429 for task in asked) <= MOST:
                assert time.monotonic() < end_s, "some still wait for those before"
                await asyncio.sleep(0.05)
            hold.set()
            assert {200, 429} <= {answer[0] for answer in await asyncio.gather(*asked)} <= {200, 429, 503}


async def test_connections_to_a_router_are_kept_however_many_clients_are_connected() -> None:
    async def fine(request: web.BaseRequest) -> web.Response:
        return web.Response(text="fine", headers={"x-accord-wait": "0"})

    with managed({"RAY_SERVE_HAPROXY_MAXCONN": str(MOST)}) as manager:
        async with Upstream(fine) as router, unlimited() as many, unlimited() as client:
            await served(client, manager, router)
            idle = await asyncio.gather(
                *(many.get(f"http://127.0.0.1:{manager.port}/-/healthz") for _ in range(MOST * 3 // 4))
            )
            before = await reused(manager)
            for _ in range(50):
                assert (await call(client, manager))[0] == 200
            opened, again = (after - first for after, first in zip(await reused(manager), before, strict=True))
            assert opened <= 2
            assert again >= 48
            for answer in idle:
                answer.release()

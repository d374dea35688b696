"""How many requests `accord-haproxy` lets wait for a place at a router: real HAProxy, a router of a few lines."""

import asyncio
import time

import aiohttp
import pytest
from aiohttp import web

from haproxy_scene import BACKEND, Upstream, call, managed, served
from serve_app.proxy.admin_socket import ask
from serve_app.proxy.config_text import PLACES_PER_WAITING

pytestmark = pytest.mark.timeout(180)

PLACES, ASKED = 16, 60


async def test_where_places_are_few_few_wait_for_them() -> None:
    hold = asyncio.Event()
    hold.set()

    async def held(request: web.BaseRequest) -> web.Response:  # it tells of no wait, so that the window stays as it is
        await hold.wait()
        return web.Response(text="fine")

    unlimited = aiohttp.TCPConnector(limit=0)
    with managed() as manager:
        async with Upstream(held) as router, aiohttp.ClientSession(connector=unlimited) as client:
            await served(client, manager, router)
            await ask(f"{manager.folder}/h.sock", f"set maxconn server {BACKEND}/r0 {PLACES}")
            hold.clear()
            asking = [asyncio.create_task(call(client, manager)) for _ in range(ASKED)]
            least_refused = ASKED - PLACES - PLACES // PLACES_PER_WAITING - 1
            end_s = time.monotonic() + 30
            while sum(task.done() for task in asking) < least_refused:
                assert time.monotonic() < end_s
                await asyncio.sleep(0.02)
            hold.set()
            statuses = [answer[0] for answer in await asyncio.gather(*asking)]
    assert least_refused <= statuses.count(429) <= least_refused + 1
    assert statuses.count(200) == ASKED - statuses.count(429)

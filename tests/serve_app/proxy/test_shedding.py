"""What `accord-haproxy` refuses at random because routers tell it to: real HAProxy, routers of a few lines."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from haproxy_scene import INFER, Manager, Upstream, call, managed, served
from serve_app.http.in_front.shedding import HEADER

pytestmark = pytest.mark.timeout(180)

OTHER = "/v2/models/other/infer"
STATUS = "/accord/status"


class Told:
    """A router that tells of a share for one path."""

    def __init__(self) -> None:
        self.share: int | None = None

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        headers = {"x-accord-wait": "0"}
        if self.share is not None and request.path == INFER:
            headers[HEADER.decode()] = str(self.share)
        return web.Response(text="fine", headers=headers)


@pytest.fixture
async def scene() -> AsyncIterator[tuple[Manager, aiohttp.ClientSession, Told, Upstream]]:
    told = Told()
    with managed() as manager:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as client, Upstream(told) as router:
            await served(client, manager, router)
            yield manager, client, told, router


async def statuses(
    client: aiohttp.ClientSession, manager: Manager, count: int, path: str = INFER, body: bytes = b"{}", **given: Any
) -> Counter[int]:
    found: Counter[int] = Counter()
    for _ in range(count):
        async with client.post(f"http://127.0.0.1:{manager.port}{path}", data=body, **given) as answer:
            found[answer.status] += 1
            await answer.read()
            assert HEADER.decode() not in answer.headers
    return found


async def test_such_a_share_of_the_path_is_refused_and_nothing_else(
    scene: tuple[Manager, aiohttp.ClientSession, Told, Upstream],
) -> None:
    manager, client, told, router = scene
    told.share = 700
    await call(client, manager)
    found = await statuses(client, manager, 1000)
    assert found.keys() == {200, 429}
    assert found[429] == pytest.approx(700, abs=75)  # five standard deviations
    assert len([request for request in router.requests if request.path == INFER]) == 1 + found[200]
    assert await statuses(client, manager, 50, OTHER) == {200: 50}
    assert await statuses(client, manager, 50, STATUS) == {200: 50}


async def test_a_refusal_says_why_and_is_counted(
    scene: tuple[Manager, aiohttp.ClientSession, Told, Upstream],
) -> None:
    manager, client, told, router = scene
    told.share = 1000
    await call(client, manager)
    refused = 0
    while refused < 3:
        status, body, headers = await call(client, manager)
        if status == 429:  # else a second has passed since the share was told last
            refused += 1
            assert (json.loads(body)["reason"], headers["Retry-After"]) == ("Saturated", "1")
    router.requests.clear()
    await asyncio.sleep(1.5)  # nobody tells of a share any more
    assert (await call(client, manager))[0] == 200
    assert router.requests[-1].headers["x-accord-refused"].startswith("3-")


async def test_whoever_goes_first_is_for_the_router_to_say(
    scene: tuple[Manager, aiohttp.ClientSession, Told, Upstream],
) -> None:
    manager, client, told, _ = scene
    told.share = 1000
    await call(client, manager)
    first = b'{"parameters": {"priority": 1}, "inputs": []}'
    assert await statuses(client, manager, 20, body=first) == {200: 20}
    assert await statuses(client, manager, 20, headers={"Content-Encoding": "gzip"}) == {200: 20}
    assert await statuses(client, manager, 5) == {429: 5}
    assert await statuses(client, manager, 5, body=first.replace(b"1", b"12")) == {429: 5}


async def test_a_share_that_nobody_tells_of_any_more_is_forgotten_however_many_ask(
    scene: tuple[Manager, aiohttp.ClientSession, Told, Upstream],
) -> None:
    manager, client, told, _ = scene
    told.share = 900
    await call(client, manager)
    told.share = None
    end_s = time.monotonic() + 2.5
    while time.monotonic() < end_s:
        await statuses(client, manager, 5)
    assert await statuses(client, manager, 100) == {200: 100}

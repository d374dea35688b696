"""A small real server on a loopback port, whose answers a test sets."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import orjson
import pytest
from aiohttp import web

Handler = Callable[[web.Request, int], Awaitable[web.StreamResponse]]


def oip_answer(label: int, variant: str = "small", accuracy: float = 0.9) -> web.Response:
    parameters = {"variant": variant, "expected_accuracy": accuracy, "deadline_met": True}
    outputs = [{"name": "label", "datatype": "INT64", "shape": [1], "data": [label]}]
    body = orjson.dumps({"model_name": "digits", "parameters": parameters, "outputs": outputs})
    return web.Response(body=body, content_type="application/json")


class SettableServer:
    """Answers query number n with ``await handler(request, n)``; counts queries and connections."""

    def __init__(self) -> None:
        self.received = 0
        self.peers: set[object] = set()
        self.infer_url = ""
        self.oip_answer = oip_answer
        self.gate = asyncio.Event()
        self.gate.set()
        self.handler: Handler = self._answer_zero

    async def handle(self, request: web.Request) -> web.StreamResponse:
        number = self.received
        self.received += 1
        assert request.transport is not None
        self.peers.add(request.transport.get_extra_info("peername"))
        await request.read()
        await self.gate.wait()
        return await self.handler(request, number)

    async def wait_for(self, count: int) -> None:
        """Return once ``count`` queries have come in; fails the test after 5 s."""
        give_up_s = time.monotonic() + 5.0
        while self.received < count:
            assert time.monotonic() < give_up_s, f"only {self.received} of {count} queries came in"
            await asyncio.sleep(0.005)

    async def _answer_zero(self, request: web.Request, number: int) -> web.StreamResponse:
        return oip_answer(0)


@pytest.fixture
async def server() -> AsyncIterator[SettableServer]:
    settable = SettableServer()
    app = web.Application()
    app.router.add_post("/v2/models/digits/infer", settable.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    settable.infer_url = f"http://127.0.0.1:{port}/v2/models/digits/infer"
    yield settable
    settable.gate.set()
    await runner.cleanup()


@pytest.fixture
def closed_url() -> str:
    """An address where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v2/models/digits/infer"

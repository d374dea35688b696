"""The cheap client against a server of a few lines: what it counts, and when."""

import asyncio

import numpy as np
import pytest
from aiohttp import web

from benchmarks.overload.client import Client
from haproxy_scene import Upstream

REQUEST = b"POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


async def test_every_query_has_its_status_and_its_instants() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(status=429 if request.path == "/refused" else 200, text="x" * 3000)

    times_s = np.arange(40) * 0.002
    async with Upstream(answer) as upstream:
        sent = await asyncio.to_thread(Client(upstream.port, [REQUEST % b"fine", REQUEST % b"refused"]).run, times_s)
    assert sent.status.tolist() == [200, 429] * 20
    assert (sent.lag_s >= 0).all()
    assert (sent.done_s >= sent.sent_s).all()
    assert np.array_equal(sent.intended_s, times_s)
    assert 1 <= sent.connections <= 40


async def test_it_does_not_wait_for_answers_before_it_sends_more() -> None:
    together = asyncio.Event()
    here = 0

    async def answer(request: web.BaseRequest) -> web.Response:
        nonlocal here
        here += 1
        if here == 20:
            together.set()
        await together.wait()
        return web.Response()

    async with Upstream(answer) as upstream:
        sent = await asyncio.to_thread(Client(upstream.port, [REQUEST % b"x"]).run, np.zeros(20))
    assert (sent.status == 200).all()


async def test_queries_in_flight_have_no_limit_of_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.overload.client.MOST_OPENING", 4)
    here = 0

    async def answer(request: web.BaseRequest) -> web.Response:
        nonlocal here
        here += 1
        while here < 40:
            await asyncio.sleep(0.005)
        return web.Response()

    async with Upstream(answer) as upstream:
        sent = await asyncio.to_thread(Client(upstream.port, [REQUEST % b"x"]).run, np.arange(40) * 0.02)
    assert (sent.status == 200).all()
    assert sent.connections == 40


async def test_a_load_begins_with_connections_for_fifty_milliseconds_of_it() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response()

    async with Upstream(answer) as upstream:
        sent = await asyncio.to_thread(Client(upstream.port, [REQUEST % b"x"]).run, np.arange(201) * 0.005)
    assert 10 <= sent.connections <= 12
    assert (sent.status == 200).all()


async def test_without_anybody_there_all_queries_are_lost() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response()

    async with Upstream(answer) as upstream:
        port = upstream.port
    sent = await asyncio.to_thread(Client(port, [REQUEST % b"x"]).run, np.arange(20) * 0.005)
    assert sent.status.tolist() == [0] * 20


async def test_a_connection_that_ends_without_an_answer_is_a_lost_query() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with Upstream(answer) as upstream:
        sent = await asyncio.to_thread(Client(upstream.port, [REQUEST % b"x"]).run, np.zeros(3))
    assert sent.status.tolist() == [0, 0, 0]
    assert np.isnan(sent.done_s).all()


async def test_an_idle_connection_that_the_server_ends_takes_no_query_along() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        asyncio.get_running_loop().call_later(0.02, request.transport.close)
        return web.Response()

    async with Upstream(answer) as upstream:
        sent = await asyncio.to_thread(Client(upstream.port, [REQUEST % b"x"]).run, np.arange(10) * 0.06)
    assert sent.status.tolist() == [200] * 10
    assert sent.connections >= 10


async def test_what_comes_unasked_is_nobodys_answer() -> None:
    """HAProxy tells a connection that never asked anything that it was too slow (408), and ends it."""

    came = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        came += 1
        if came == 1:
            writer.write(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        while came > 1 and await reader.read(1000):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        sent = await asyncio.to_thread(Client(port, [REQUEST % b"x"]).run, np.arange(1, 21) * 0.05)
    assert sent.status.tolist() == [200] * 20
    assert came == sent.connections == 2


async def test_clients_that_leave_are_seen_to_leave() -> None:
    left = 0

    async def answer(request: web.BaseRequest) -> web.Response:
        nonlocal left
        transport = request.transport
        assert transport is not None
        while not transport.is_closing():
            await asyncio.sleep(0.005)
        left += 1
        return web.Response()

    async with Upstream(answer) as upstream:
        sent = await asyncio.to_thread(Client(upstream.port, [REQUEST % b"x"]).run, np.zeros(5), leaving_s=0.02)
        while left < 5:
            await asyncio.sleep(0.01)
    assert (sent.status == 0).all()

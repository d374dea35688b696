"""What comes back over a connection, from a server that answers as it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from benchmarks.fuzz.connection import Connection, Reply

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
LAST = b"HTTP/1.1 413 Large\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"
REST = b"HTTP/1.1 500 Gone\r\n\r\nto the end"

Answering = Callable[[bytes], AsyncIterator[Connection]]


@pytest.fixture
async def to() -> AsyncIterator[Callable[[bytes], asyncio.Future[Connection]]]:
    """A connection to a server that sends some bytes to whoever says something, and then hangs up."""
    servers = []

    async def connect(answer: bytes) -> Connection:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(answer)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        servers.append(server)
        return Connection("127.0.0.1", server.sockets[0].getsockname()[1])

    yield connect  # type: ignore[misc]
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    ("answer", "heads", "replies"),
    [
        (OK + CHUNKED, [False, False], [Reply(200, b"ok"), Reply(400, b"abc")]),
        (LAST, [False, False], [Reply(413, b"x"), Reply(None, closed=True)]),
        (REST, [False], [Reply(500, b"to the end")]),
        (b"HTTP/1.1 405 No\r\nContent-Length: 9\r\n\r\n", [True], [Reply(405)]),
        (b"", [False], [Reply(None, closed=True)]),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", [False], [Reply(None, closed=True)]),
        (b"what is this\r\n\r\n", [False], [Reply(None, closed=True)]),
    ],
)
async def test_replies_are_told_apart(to: object, answer: bytes, heads: list[bool], replies: list[Reply]) -> None:
    connection: Connection = await to(answer)  # type: ignore[operator]
    assert await connection.send([b"x"], heads, 20) == replies
    await connection.close()


async def test_a_server_that_says_nothing_is_told_from_one_that_hangs_up() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        connection = Connection("127.0.0.1", server.sockets[0].getsockname()[1])
        assert await connection.send([b"x"], [False], 0.2) == [Reply(None)]


async def test_where_nobody_listens_it_is_closed(free_port: int) -> None:
    assert await Connection("127.0.0.1", free_port).send([b"x"], [False], 20) == [Reply(None, closed=True)]

"""The benchmark's client against small servers whose behaviour is known."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from benchmarks.serving.closed_loop import measure

Handler = Callable[[int], bytes]
"""Number of the request on its connection to the bytes of the answer; empty bytes close the connection."""


@contextmanager
def server(handler: Handler) -> Iterator[tuple[int, list[bytes]]]:
    """A server on a thread of its own: its port, and the bodies that it received."""
    bodies: list[bytes] = []
    started: list[int] = []
    up, loop = threading.Event(), asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            bodies.append(await reader.readexactly(length))
            answer = handler(number)
            number += 1
            if not answer:
                break
            writer.write(answer)
        writer.close()

    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    async def main() -> None:
        listening = await asyncio.start_server(quietly, "127.0.0.1", 0)
        started.append(listening.sockets[0].getsockname()[1])
        up.set()
        async with listening:
            while not stop.is_set():
                await asyncio.sleep(0.01)

    stop = threading.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    assert up.wait(10)
    try:
        yield started[0], bodies
    finally:
        stop.set()
        thread.join()
        loop.run_until_complete(asyncio.sleep(0.05))
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
FAULT = b"HTTP/1.1 503 Unavailable\r\ncontent-length: 4\r\n\r\nbusy"


@pytest.mark.parametrize("answer", [OK, CHUNKED])
def test_every_answer_counts_once_however_it_is_framed(answer: bytes) -> None:
    with server(lambda _: answer) as (port, bodies):
        result = measure(port, "/x", [b"a", b"b", b"c"], 2, 0.3)
    assert result.errors == 0
    assert len(result.latencies_s) == len(bodies) > 10
    assert set(bodies) == {b"a", b"b", b"c"}
    assert 0 < result.percentile_ms(50) <= result.percentile_ms(99)


def test_an_answer_that_is_not_200_is_an_error_with_its_text() -> None:
    with server(lambda number: FAULT if number % 2 else OK) as (port, _):
        result = measure(port, "/x", [b"a"], 1, 0.2)
    assert result.errors > 0
    assert "busy" in result.last_error


def test_a_connection_that_the_server_closes_is_opened_again() -> None:
    with server(lambda number: OK if number < 5 else b"") as (port, bodies):
        result = measure(port, "/x", [b"a"], 1, 0.3)
    assert result.errors == 0
    assert len(bodies) > 10

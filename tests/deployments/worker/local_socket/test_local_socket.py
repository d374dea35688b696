"""Batches over a real Unix socket: both ends on one event loop, and one end in a process of its own."""

import asyncio
import multiprocessing
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from multiprocessing.connection import Connection

import numpy as np
import pytest
import uvloop

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from deployments.worker.local_socket import link as link_module
from deployments.worker.local_socket import server as server_module
from deployments.worker.local_socket.frames import same_user
from deployments.worker.local_socket.link import CallRefused, LinkLost, LocalLink
from deployments.worker.local_socket.server import LocalServer

X: Arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}


class Doubling:
    """Doubles its inputs when `go` is set; keeps what it was asked, and what it gave up."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked: list[tuple[str, str, str | None]] = []
        self.cancelled = 0
        self.raises: Exception | None = None

    async def run(self, variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        self.asked.append((variant, worker, router))
        if self.raises is not None:
            raise self.raises
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        for array in inputs.values():
            array *= 2  # as a runtime might: they are the worker's own
        return BatchResult(inputs, 0.25, waited_s=0.5)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Doubling, LocalServer, LocalLink]]:
    worker = Doubling()
    server = LocalServer(worker.run)
    link = await LocalLink.open(await server.open())
    try:
        yield worker, server, link
    finally:
        worker.go.set()
        await hung_up(link)
        await server.close()


async def hung_up(link: LocalLink) -> None:
    """The link is closed, down to its socket."""
    link.close()
    with suppress(OSError):
        await link._writer.wait_closed()


async def until(asked: Doubling, number: int = 1) -> None:
    """That many calls have come to the worker."""
    while len(asked.asked) < number:
        await asyncio.sleep(0.001)


async def test_a_batch_comes_back_as_the_worker_answered_it() -> None:
    async with connected() as (worker, _, link):
        worker.go.set()
        result = await link.run("v", X, "w", "r")
        assert result.outputs["x"].tolist() == [[0, 2, 4], [6, 8, 10]]
        assert (result.run_s, result.waited_s, result.error) == (0.25, 0.5, None)
        assert worker.asked == [("v", "w", "r")]
        assert X["x"][1, 2] == 5  # the caller's own stay as they are


def test_batches_cross_on_the_event_loop_that_serve_runs_replicas_on() -> None:
    async def there_and_back() -> None:
        async with connected() as (worker, _, link):
            worker.go.set()
            large = {"x": np.ones((64, 3, 64, 64), dtype=np.float32)}
            for inputs in (X, large):
                result = await link.run("v", inputs, "w", "r")
                assert np.array_equal(result.outputs["x"], inputs["x"] * 2)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(there_and_back())


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 4), dtype=np.float32),
        np.arange(24, dtype=np.int64).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(10, dtype=np.uint8)[::2],
        np.array([True, False]),
        np.random.default_rng(1).standard_normal((64, 3, 64, 64)).astype(np.float16),
        np.array(["a", "längere Wörter", ""], dtype=object),
        np.array([b"\0\xff", b""], dtype=object),
    ],
    ids=["empty", "transposed", "strided", "bool", "large", "str", "bytes"],
)
async def test_arrays_of_every_kind_cross_both_ways(array: np.ndarray) -> None:
    async def same(variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        return BatchResult(inputs, 0.0)

    server = LocalServer(same)
    link = await LocalLink.open(await server.open())
    got = (await link.run("v", {"x": array, "y": array[:1]}, "w", None)).outputs
    assert got["x"].dtype == array.dtype
    assert np.array_equal(got["x"], array)
    assert np.array_equal(got["y"], array[:1])
    await hung_up(link)
    await server.close()


async def test_batches_are_answered_in_whatever_order_they_end() -> None:
    first = asyncio.Event()

    async def run(variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        if variant == "first":
            await first.wait()
        return BatchResult({}, 0.0, variant)

    server = LocalServer(run)
    link = await LocalLink.open(await server.open())
    slow = asyncio.create_task(link.run("first", X, "w", None))
    assert (await link.run("second", X, "w", None)).error == "second"
    first.set()
    assert (await slow).error == "first"
    await hung_up(link)
    await server.close()


async def test_what_the_worker_would_not_have_comes_back_in_words() -> None:
    async with connected() as (worker, _, link):
        worker.raises = ValueError("this is worker a, not b")
        with pytest.raises(CallRefused, match=r"^ValueError: this is worker a, not b$"):
            await link.run("v", X, "b", None)
        assert not link.lost


async def test_a_call_given_up_is_cancelled_at_the_worker() -> None:
    async with connected() as (worker, _, link):
        call = asyncio.create_task(link.run("v", X, "w", None))
        await until(worker)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while not worker.cancelled:
            await asyncio.sleep(0.001)
        worker.go.set()
        assert (await link.run("v", X, "w", None)).error is None


async def test_a_router_that_hangs_up_has_its_batches_cancelled() -> None:
    async with connected() as (worker, server, link):
        other = await LocalLink.open(await server.open())
        calls = [asyncio.create_task(each.run("v", X, "w", None)) for each in (link, other)]
        await until(worker, number=2)
        other._writer.transport.abort()
        with pytest.raises(LinkLost):
            await calls[1]
        await hung_up(other)
        while not worker.cancelled:
            await asyncio.sleep(0.001)
        worker.go.set()
        assert (await calls[0]).error is None
        assert worker.cancelled == 1


async def test_a_link_is_closed_after_what_is_under_way() -> None:
    async with connected() as (worker, _, link):
        call = asyncio.create_task(link.run("v", X, "w", None))
        await until(worker)
        link.close()
        assert not link.lost
        worker.go.set()
        assert (await call).error is None
        while not link.lost:
            await asyncio.sleep(0.001)
        with pytest.raises(LinkLost):
            await link.run("v", X, "w", None)


async def test_a_worker_that_stops_answers_what_it_has_and_refuses_what_comes() -> None:
    async with connected() as (worker, server, link):
        call = asyncio.create_task(link.run("v", X, "w", None))
        await until(worker)
        closing = asyncio.create_task(server.close())
        with pytest.raises(CallRefused, match="stopping"):
            await link.run("v", X, "w", None)
        assert not closing.done()
        worker.go.set()
        assert (await call).error is None
        await closing
        while not link.lost:
            await asyncio.sleep(0.001)


async def test_there_is_one_socket_whoever_asks() -> None:
    async with connected() as (_, server, _):
        first, second = await asyncio.gather(server.open(), server.open())
        assert first == second


async def test_a_socket_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError):
        await LocalLink.open("\0accord-worker-nobody")


async def test_a_router_does_not_send_to_a_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected() as (worker, server, _):
        name = await server.open()
        monkeypatch.setattr(link_module, "same_user", lambda end: False)
        with pytest.raises(PermissionError, match="another user"):
            await LocalLink.open(name)
        assert worker.asked == []


async def test_a_worker_hangs_up_on_a_process_of_another_user_before_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected() as (worker, server, _):
        monkeypatch.setattr(server_module, "same_user", lambda end: False)
        link = await LocalLink.open(await server.open())
        with pytest.raises(LinkLost):
            await link.run("v", X, "w", "r")
        assert worker.asked == []
        await hung_up(link)


async def test_who_is_at_the_other_end_is_what_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert same_user(one)
        another = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: another)
        assert not same_user(one)


def _serve_for_ever(pipe: Connection) -> None:
    async def serve() -> None:
        async def run(variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
            if variant == "hangs":
                await asyncio.Event().wait()
            return BatchResult({}, 0.0, str(os.getpid()))

        pipe.send(await LocalServer(run).open())
        await asyncio.Event().wait()

    asyncio.run(serve())


async def test_the_death_of_the_process_ends_the_calls_to_it_at_once() -> None:
    mine, its = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve_for_ever, args=(its,), daemon=True)
    process.start()
    try:
        link = await LocalLink.open(await asyncio.to_thread(mine.recv))
        assert (await link.run("v", X, "w", None)).error == str(process.pid)
        call = asyncio.create_task(link.run("hangs", X, "w", None))
        await link.run("v", X, "w", None)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(LinkLost):
            await call
        assert link.lost
        await hung_up(link)
    finally:
        process.kill()
        process.join()

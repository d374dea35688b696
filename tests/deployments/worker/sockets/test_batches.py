"""Batches over real sockets, Unix and TCP: both ends on one event loop, and one end in a process of its own."""

import asyncio
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection

import numpy as np
import pytest
import uvloop
from batch_socket_scene import Open, connected, hung_up, open_local, open_network

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from deployments.worker.sockets.link import BatchLink, CallRefused, LinkLost
from deployments.worker.sockets.server import BatchServer

X: Arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}


@pytest.fixture(params=[open_local, open_network], ids=["local", "network"])
def open_link(request: pytest.FixtureRequest) -> Open:
    """How the router connects."""
    made: Open = request.param
    return made


async def test_a_batch_comes_back_as_the_worker_answered_it(open_link: Open) -> None:
    async with connected(open_link) as (worker, _, link):
        worker.go.set()
        result = await link.run("v", X, "w", "r")
        assert result.outputs["x"].tolist() == [[0, 2, 4], [6, 8, 10]]
        assert (result.run_s, result.waited_s, result.error) == (0.25, 0.5, None)
        assert worker.asked == [("v", "w", "r")]
        assert X["x"][1, 2] == 5  # the caller's own stay as they are


def test_batches_cross_on_the_event_loop_that_serve_runs_replicas_on(open_link: Open) -> None:
    async def there_and_back() -> None:
        async with connected(open_link) as (worker, _, link):
            worker.go.set()
            large = {"x": np.ones((64, 3, 64, 64), dtype=np.float32)}
            for inputs in (X, large):
                result = await link.run("v", inputs, "w", "r")
                assert np.array_equal(result.outputs["x"], inputs["x"] * 2)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(there_and_back())


def test_a_connection_that_was_closed_a_moment_ago_is_lost_on_that_event_loop_too(open_link: Open) -> None:
    async def closed_a_moment_ago() -> None:
        async with connected(open_link) as (_, _, link):
            link._writer.transport.abort()
            await asyncio.sleep(0)
            assert not link.lost, "what reads has yet to hear of it"
            with pytest.raises(LinkLost):
                await link.run("v", X, "w", "r")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(closed_a_moment_ago())


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
async def test_arrays_of_every_kind_cross_both_ways(open_link: Open, array: np.ndarray) -> None:
    async def same(variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        return BatchResult(inputs, 0.0)

    server = BatchServer(same)
    link = await open_link(server)
    got = (await link.run("v", {"x": array, "y": array[:1]}, "w", None)).outputs
    assert got["x"].dtype == array.dtype
    assert np.array_equal(got["x"], array)
    assert np.array_equal(got["y"], array[:1])
    await hung_up(link)
    await server.close()


async def test_batches_are_answered_in_whatever_order_they_end(open_link: Open) -> None:
    first = asyncio.Event()

    async def run(variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        if variant == "first":
            await first.wait()
        return BatchResult({}, 0.0, variant)

    server = BatchServer(run)
    link = await open_link(server)
    slow = asyncio.create_task(link.run("first", X, "w", None))
    assert (await link.run("second", X, "w", None)).error == "second"
    first.set()
    assert (await slow).error == "first"
    await hung_up(link)
    await server.close()


async def test_what_the_worker_would_not_have_comes_back_in_words(open_link: Open) -> None:
    async with connected(open_link) as (worker, _, link):
        worker.raises = ValueError("this is worker a, not b")
        with pytest.raises(CallRefused, match=r"^ValueError: this is worker a, not b$"):
            await link.run("v", X, "b", None)
        assert not link.lost


@pytest.mark.parametrize("error", [BaseException("odd"), asyncio.CancelledError("odd"), GeneratorExit("odd")], ids=repr)
async def test_whatever_ends_a_run_the_call_is_answered(open_link: Open, error: BaseException) -> None:
    async with connected(open_link) as (worker, _, link):
        worker.raises = error
        async with asyncio.timeout(5):
            with pytest.raises(CallRefused, match=f"^{type(error).__name__}: odd$"):
                await link.run("v", X, "b", None)
        assert not link.lost


async def test_a_call_given_up_is_cancelled_at_the_worker(open_link: Open) -> None:
    async with connected(open_link) as (worker, _, link):
        call = asyncio.create_task(link.run("v", X, "w", None))
        await worker.until_asked()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while not worker.cancelled:
            await asyncio.sleep(0.001)
        worker.go.set()
        assert (await link.run("v", X, "w", None)).error is None


async def test_a_router_that_hangs_up_has_its_batches_cancelled(open_link: Open) -> None:
    async with connected(open_link) as (worker, server, link):
        other = await open_link(server)
        calls = [asyncio.create_task(each.run("v", X, "w", None)) for each in (link, other)]
        await worker.until_asked(2)
        other._writer.transport.abort()
        with pytest.raises(LinkLost):
            await calls[1]
        await hung_up(other)
        while not worker.cancelled:
            await asyncio.sleep(0.001)
        worker.go.set()
        assert (await calls[0]).error is None
        assert worker.cancelled == 1


async def test_a_link_is_closed_after_what_is_under_way(open_link: Open) -> None:
    async with connected(open_link) as (worker, _, link):
        call = asyncio.create_task(link.run("v", X, "w", None))
        await worker.until_asked()
        link.close()
        assert not link.lost
        worker.go.set()
        assert (await call).error is None
        while not link.lost:
            await asyncio.sleep(0.001)
        with pytest.raises(LinkLost):
            await link.run("v", X, "w", None)


async def test_a_worker_that_stops_answers_what_it_has_and_refuses_what_comes(open_link: Open) -> None:
    async with connected(open_link) as (worker, server, link):
        call = asyncio.create_task(link.run("v", X, "w", None))
        await worker.until_asked()
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
    async with connected(open_local) as (_, server, _):
        first, second = await asyncio.gather(server.open_local(), server.open_local())
        assert first == second
        one, other = await asyncio.gather(*(server.open_network("127.0.0.1") for _ in range(2)))
        assert one == other


def _serve_for_ever(pipe: Connection) -> None:
    async def serve() -> None:
        async def run(variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
            if variant == "hangs":
                await asyncio.Event().wait()
            return BatchResult({}, 0.0, str(os.getpid()))

        server = BatchServer(run)
        pipe.send((await server.open_local(), await server.open_network("127.0.0.1")))
        await asyncio.Event().wait()

    asyncio.run(serve())


@pytest.mark.parametrize("remote", [False, True], ids=["local", "network"])
async def test_the_death_of_the_process_ends_the_calls_to_it_at_once(remote: bool) -> None:
    mine, its = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve_for_ever, args=(its,), daemon=True)
    process.start()
    try:
        name, address = await asyncio.to_thread(mine.recv)
        link = await (BatchLink.open_network(address) if remote else BatchLink.open_local(name))
        assert (await link.run("v", X, "w", None)).error == str(process.pid)
        call = asyncio.create_task(link.run("hangs", X, "w", None))
        await link.run("v", X, "w", None)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(LinkLost) as raised:
            await call
        assert not raised.value.cut_off
        assert link.lost
        await hung_up(link)
    finally:
        process.kill()
        process.join()

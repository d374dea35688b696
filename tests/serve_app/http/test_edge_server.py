"""The edge behind a real HTTP server: clients that leave, and clients that are slow."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import cast

import orjson
import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from catalog.tensor import TensorSpec
from deployments.router.feedback.labels import Labels
from dispatch.query import ONLY_STAGE
from router_scene import PlayedPool, Scene, routing
from serve_app.http.edge import Edge
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.in_front.refusals import ProxyRefusals
from serve_app.http.in_front.request_age import RequestAge
from serve_app.http.in_front.shedding import FrontShedding
from serve_app.http.in_front.wait import FrontWait
from serve_app.http.intake import Intake, IntakeLimits
from serve_app.oip.inference import Inference

X, Y = TensorSpec("x", "FP32", (-1,)), TensorSpec("y", "FP32", (-1,))
BODY = orjson.dumps(
    {"parameters": {"slo_ms": 60_000}, "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [3]}]}
)
HEAD = b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: accord\r\nContent-Length: %d\r\n\r\n" % len(BODY)


@asynccontextmanager
async def served(pool: PlayedPool, body_timeout_s: float = 30.0) -> AsyncIterator[tuple[Scene, int]]:
    """A router with one worker behind uvicorn; gives the port."""
    clock = asyncio.get_running_loop().time
    async with routing(pool=pool) as scene:
        await scene.join("w1")
        info = EndpointInfo("digits", {ONLY_STAGE: "toy"}, (X,), (Y,), (), 4)
        intake = Intake(
            IntakeLimits(1000, body_timeout_s, 100),
            RequestAge(""),
            FrontWait(0.1, clock),
            FrontShedding([], clock),
            ProxyRefusals(""),
            None,
            clock,
        )
        labels = Labels(scene.router.plan.endpoints, {})
        inference = Inference("r1", scene.router, {"digits": info}, labels, clock)
        edge = Edge(inference, scene.router, intake, cast(ASGIApp, None))

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await edge.serve_inference("digits", scope, receive, send, watched=True)

        config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        serving = asyncio.create_task(server.serve())
        try:
            await until(lambda: server.started)
            yield scene, server.servers[0].sockets[0].getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await serving


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30.0):
        while not holds():
            await asyncio.sleep(0.005)


def count(scene: Scene, name: str) -> int:
    return int(scene.router.status()["endpoints"]["digits"][name])


async def test_a_client_that_leaves_while_its_query_waits_takes_it_along() -> None:
    async with served(PlayedPool(hanging={"w1"})) as (scene, port):
        writers = []
        for number in range(4):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEAD + BODY)
            writers.append(writer)
            if number < 2:
                await until(lambda number=number: len(scene.pool.batches) > number)  # type: ignore[misc]
        await until(lambda: count(scene, "arrived") == 4)
        assert scene.queued == 2, "one runs, on a worker that never answers, and one waits there"
        for gone, writer in enumerate(writers, start=1):
            writer.close()
            await until(lambda gone=gone: count(scene, "cancelled") == gone)  # type: ignore[misc]
        assert scene.queued == 0
        assert count(scene, "violations") == 0


async def test_a_client_that_stays_gets_its_answer_and_may_go_on() -> None:
    async with served(PlayedPool()) as (scene, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer):
            for number in range(1, 4):
                writer.write(HEAD + BODY)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                answer = orjson.loads(await reader.readexactly(int(length.split()[1])))
                assert answer["outputs"][0]["data"] == [6.0]
                assert count(scene, "answered") == number
        assert count(scene, "cancelled") == 0


async def test_a_client_that_left_before_the_loop_came_to_its_request_never_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served(PlayedPool()) as (scene, port):
        for _ in range(3):  # all while the loop is busy with this
            with socket.create_connection(("127.0.0.1", port)) as gone:
                gone.sendall(HEAD + BODY)
        reader, other = await asyncio.open_connection("127.0.0.1", port)
        with closing(other):
            other.write(HEAD + BODY)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        assert (count(scene, "arrived"), count(scene, "cancelled")) == (1, 0)
    assert not [record for record in caplog.records if record.name == "uvicorn.error"], "nobody was to be answered"


async def test_a_client_that_leaves_within_its_body_never_counts() -> None:
    async with served(PlayedPool()) as (scene, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + BODY[:10])
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        reader, other = await asyncio.open_connection("127.0.0.1", port)
        with closing(other):
            other.write(HEAD + BODY)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        assert count(scene, "arrived") == 1


async def test_a_body_that_does_not_come_gets_408() -> None:
    async with served(PlayedPool(), body_timeout_s=0.2) as (scene, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer):
            writer.write(HEAD + BODY[:10])
            assert (await reader.readline()).startswith(b"HTTP/1.1 408")
        assert count(scene, "arrived") == 0

"""A small real server in a thread of its own, since commands start their own event loop."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import orjson
import pytest
from aiohttp import web

from catalog.tensor import DTYPES

STATUS = {
    "endpoints": {
        "digits": {
            "slo_ms": 100,
            "selection": "greedy",
            "arrived": 12,
            "answered": 10,
            "violations": 1,
            "rejected": 1,
            "failed": 1,
            "queued": 0,
            "latency_ms": {"p50": 4.25, "p95": 9.0, "p99": None},
            "window_s": 60,
            "anticipated_qps": 37.5,
            "guarantee": {
                "window_s": 10.0,
                "kept": "no",
                "queries": 12,
                "violations": 1,
                "promised_violation_rate": 0.0125,
                "observed_violation_rate": 0.083,
                "client_violation_rate": 0.167,
                "expected_violation_rate": 0.011,
                "expected_accuracy": 0.876,
                "observed_accuracy": 0.912,
                "predicted_violation_rate": 0.0123,
                "predicted_accuracy": 0.8765,
                "broken": True,
            },
            "tables": {"state": "none", "made": 0, "wanted": 0, "query_rows": 1},
            "feedback": {"slack_factor": 0.64, "reason": "3 of 12 queries (25.0%) were late within 1.1 s"},
            "variants": {"digits-cnn-s": {"queries": 10, "share": 1.0, "expected_accuracy": 0.91}},
        }
    },
    "workers": {
        "w1": {
            "pool": "cpu",
            "device": "cpu",
            "state": "idle",
            "queued": 0,
            "loaded": ["digits-cnn-s"],
            "failed": {"digits-cnn-l": "out of memory"},
            "latency": {"run_factor": 1.524, "path_ms": 8.25, "path_tail_ms": 21.4, "slow": True},
        }
    },
    "version": "0.1.0",
}


class ThreadedServer:
    """Answers 7 to every query unless ``refusal`` is set to (status, body); keeps the last request, ``tail`` being what
    is behind its JSON.

    ``in_bytes`` has outputs behind the JSON.
    ``parameters`` are those of every answer, ``metadata`` those of the endpoint, which takes ``inputs`` and says that
    it gives ``outputs``; ``tensors`` are what it gives. ``answers`` has, by path under ``/accord/``, (status, body) of
    each call to come.
    """

    def __init__(self) -> None:
        self.url = ""
        self.received = 0
        self.last: dict[str, Any] = {}
        self.tail = b""
        self.refusal: tuple[int, dict[str, Any]] | None = None
        self.answers: dict[str, list[tuple[int, Any]]] = {}
        self.parameters = {
            "variant": "digits-cnn-s",
            "expected_accuracy": 0.91,
            "latency_ms": 4.2,
            "deadline_met": True,
        }
        self.metadata: dict[str, Any] = {"slo_ms": 120}
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self.tensors: list[dict[str, Any]] = [
            {"name": "label", "datatype": "INT64", "shape": [1], "data": [7]},
            {"name": "probabilities", "datatype": "FP32", "shape": [1, 12], "data": [0.0] * 12},
        ]
        self.in_bytes = False
        self.posted: list[tuple[str, Any]] = []
        self.deleted: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "ThreadedServer":
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close the port; a second call does nothing."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        app = web.Application()
        app.router.add_get("/accord/status", self._status)
        app.router.add_route("*", "/accord/{path:.+}", self._control)
        app.router.add_get("/v2/models/{name}", self._metadata)
        app.router.add_post("/v2/models/digits/infer", self._infer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _status(self, request: web.Request) -> web.Response:
        return web.json_response(STATUS)

    async def _control(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        if request.method == "POST":
            self.posted.append((path, orjson.loads(await request.read())))
        if request.method == "DELETE":
            self.deleted.append(path)
        status, body = self.answers[path].pop(0)
        return web.json_response(body, status=status)

    async def _metadata(self, request: web.Request) -> web.Response:
        if request.match_info["name"] != "digits":
            return web.json_response({"error": "no endpoint 'x'; this server has digits"}, status=404)
        tensors = {"inputs": self.inputs, "outputs": self.outputs}
        return web.json_response({"name": "digits", **tensors, "parameters": self.metadata})

    async def _infer(self, request: web.Request) -> web.Response:
        self.received += 1
        body = await request.read()
        json_bytes = int(request.headers.get("Inference-Header-Content-Length", len(body)))
        self.last, self.tail = orjson.loads(body[:json_bytes]), body[json_bytes:]
        if self.refusal is not None:
            status, body = self.refusal
            return web.json_response(body, status=status)
        outputs = deepcopy(self.tensors)
        answer = {"model_name": "digits", "parameters": self.parameters, "outputs": outputs}
        if not self.in_bytes:
            return web.json_response(answer)
        raw = [np.array(output.pop("data"), DTYPES[output["datatype"]]).tobytes() for output in outputs]
        for output, tensor in zip(outputs, raw, strict=True):
            output["parameters"] = {"binary_data_size": len(tensor)}
        head = orjson.dumps(answer)
        headers = {"Inference-Header-Content-Length": str(len(head))}
        return web.Response(body=b"".join([head, *raw]), headers=headers)


@pytest.fixture
def server() -> Iterator[ThreadedServer]:
    with ThreadedServer() as threaded:
        yield threaded


@pytest.fixture
def status_body() -> dict[str, Any]:
    """What the server answers to ``GET /accord/status``."""
    return deepcopy(STATUS)


@pytest.fixture
def closed_url() -> str:
    """An address where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"

"""Requests at the edge of a router, in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
from starlette.types import ASGIApp, Message

from catalog.tensor import Arrays, TensorSpec
from deployments.messages.worker import BatchResult
from deployments.router.feedback.labels import Labels
from dispatch.admission.rules import AdmissionRules
from dispatch.plan import Plan
from dispatch.query import ONLY_STAGE
from router_scene import TIMES, PlayedPool, Scene, digits, now_s, routing, service, settled
from serve_app.http.edge import Edge
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.in_front.refusals import ProxyRefusals
from serve_app.http.in_front.request_age import RequestAge
from serve_app.http.in_front.shedding import FrontShedding
from serve_app.http.in_front.wait import FrontWait
from serve_app.http.intake import DIRECT, Intake, IntakeLimits
from serve_app.oip.inference import Inference

X = TensorSpec("x", "FP32", (-1,))
Y = TensorSpec("y", "FP32", (-1,))
BODY = orjson.dumps({"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [3.0]}]})
BATCH_S = 0.04
RUN_S = 0.015
LEARNED = 200


@dataclass
class Request:
    """One request; the client leaves when `leave` is called."""

    edge: Edge
    body: bytes = BODY
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    direct: bool = True
    path: str = "/v2/models/digits/infer"
    root: str = ""
    endpoint: str = "digits"
    sent: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left = asyncio.Event()
        self._read = False
        scope = {"type": "http", "method": "POST", "path": self.path, "headers": self.headers, "root_path": self.root}
        scope |= {DIRECT: True} if self.direct else {}
        serving = self.edge.serve_inference(self.endpoint, scope, self._receive, self._send, watched=True)
        self.task = asyncio.create_task(serving)

    async def _receive(self) -> Message:
        if not self._read:
            self._read = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    def leave(self) -> None:
        self._left.set()

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def reason(self) -> str:
        return str(dict(self.sent[0]["headers"]).get(b"x-accord-reason", b"").decode())

    @property
    def answer(self) -> dict[str, Any]:
        return cast(dict[str, Any], orjson.loads(self.sent[1]["body"]))


@asynccontextmanager
async def serving(max_requests: int = 1000) -> AsyncIterator[tuple[Scene, Edge]]:
    """One worker, which takes 40 ms for a batch of up to four, 15 of them for its run, as the router has learned from
    `LEARNED` queries."""
    pool = PlayedPool({"w1": _run}, run_s=BATCH_S)
    async with routing(Plan(1, {"digits": digits(AdmissionRules())}), pool=pool) as scene:
        await scene.members("w1")
        await scene.follow("w1", endpoint=service(admission=AdmissionRules()))
        info = EndpointInfo("digits", {ONLY_STAGE: "toy"}, (X,), (Y,), (), 4)
        age = RequestAge("boot", lambda: 1000.0 + now_s())
        intake = Intake(
            IntakeLimits(1000, 10.0, max_requests),
            age,
            FrontWait(0.1, now_s),
            FrontShedding(["digits"], now_s),
            ProxyRefusals("boot"),
            None,
            now_s,
        )
        labels = Labels(scene.router.plan.endpoints, {})
        for value in range(LEARNED):
            await scene.ask(value)
        inference = Inference("r1", scene.router, {"digits": info}, labels, now_s)
        yield scene, Edge(inference, scene.router, intake, cast(ASGIApp, None))


def _run(variant: str, inputs: Arrays) -> BatchResult:
    return BatchResult({"y": inputs["x"] * TIMES[variant]}, RUN_S)


def status(scene: Scene) -> dict[str, Any]:
    return cast(dict[str, Any], scene.router.status()["endpoints"]["digits"])


async def rush(edge: Edge, count: int = 60) -> list[Request]:
    requests = [Request(edge) for _ in range(count)]
    await settled()
    return requests

"""The HTTP edge: bytes in, bytes out.

Inference requests are decoded, submitted and answered here without a web framework in between, since they are
all of the load; everything else goes to the FastAPI application of `serve_app.http.api`.
"""

import asyncio
import logging
from collections.abc import Mapping

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from catalog.errors import AccordError, Infeasible, MethodNotAllowed, Saturated, TooShort
from deployments.router.router import Router
from serve_app.http.body_bound import bounded
from serve_app.http.client_watch import ClientWatch, has_left, leave_unanswered
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.errors import error_body, error_headers
from serve_app.http.intake import (
    ACCEPTED,
    BINARY,
    CODING,
    DIRECT,
    REQUEST_ID,
    TRACE_PARENT,
    ClientGone,
    Head,
    Intake,
    asks_for_itself,
    begun,
)
from serve_app.http.security.gate import Gate
from serve_app.oip.answer import encode
from serve_app.oip.content_coding import LEAST_BYTES, compressed
from serve_app.oip.inference import Inference
from serve_app.oip.request import InferRequest, decode
from serve_app.oip.routes import check_version

logger = logging.getLogger("ray.serve")

Headers = list[tuple[bytes, bytes]]

_JSON = (b"content-type", b"application/json")
_BYTES = (b"content-type", b"application/octet-stream")
_VARIES = (b"vary", ACCEPTED)
_INTERNAL = orjson.dumps(
    {"error": "internal error in the router; see its log", "reason": "Internal", "retryable": False}
)
MODELS, VERSIONS, INFER = "/v2/models/", "/versions/", "/infer"


class Edge:
    """An ASGI application; lives on the router's event loop.

    ``inference`` takes what is decoded here; without a ``gate`` everybody is served.
    """

    def __init__(
        self,
        inference: Inference,
        router: Router,
        intake: Intake,
        other: ASGIApp,
        gate: Gate | None = None,
    ) -> None:
        self._inference = inference
        self._router = router
        self._intake = intake
        self._other = other
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event."""
        if scope["type"] == "http":
            endpoint = inferred_endpoint(_below_root(scope))
            if endpoint is not None:
                await self.serve_inference(endpoint, scope, receive, send)
                return
        if self._gate is None or await self._gate.admits(scope, send):
            await self._other(scope, bounded(scope, receive, self._intake.max_body_bytes), send)

    async def serve_inference(
        self, endpoint: str, scope: Scope, receive: Receive, send: Send, *, watched: bool = False
    ) -> None:
        """Answer one inference request, with the result or with ``{"error": ...}``.

        A client that leaves is noticed here where it is ``watched``; otherwise the caller cancels this.
        """
        if self._gate is not None and not await self._gate.admits_inference(scope, send):
            return
        status, refused = 200, False
        try:
            headers, body = await self._answer(endpoint, scope, receive, watched)
        except AccordError as error:
            status, body = error.status, error_body(error)
            headers = [_JSON, *error_headers(error), *_echoed(dict(scope["headers"]), watched)]
            refused = isinstance(error, (Infeasible, Saturated)) and not isinstance(error, TooShort)
        except ClientGone:
            if watched:
                leave_unanswered(receive)
            return
        except Exception:
            logger.exception("An inference request failed in the router.")
            status, headers, body = 500, [_JSON, *_echoed(dict(scope["headers"]), watched)], _INTERNAL
        self._intake.wait.answered(refused=refused)
        headers.append((b"content-length", b"%d" % len(body)))
        if DIRECT in scope:
            headers += [*self._intake.wait.headers, self._intake.shedding.header(endpoint, self._router.routers)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, endpoint: str, scope: Scope, receive: Receive, watched: bool) -> tuple[Headers, bytes]:
        """The headers and the body of an answer; raises `AccordError` or `ClientGone`.

        What is refused in any case is so before it is decoded: while more comes than can be borne, refusing is most of
        the work.
        """
        if scope["method"] != "POST":
            raise MethodNotAllowed(f"inference takes POST, not {scope['method']}")
        if version := _below_root(scope)[len(MODELS) + len(endpoint) : -len(INFER)]:
            check_version(version.removeprefix(VERSIONS))
        info = self._inference.endpoint(endpoint)
        head = begun(self._intake, self._router, endpoint, scope)
        if more := self._intake.refused_by_proxy(scope, head):
            self._router.refused_by_proxy(endpoint, more)
        try:
            body, json_bytes = await self._intake.body(receive, head.kept.get(CODING)), head.json_bytes
            if watched and has_left(receive):
                raise ClientGone
            refused = self._router.would_refuse(endpoint, head.arrival_s, head.slo_s) and not asks_for_itself(
                body, json_bytes
            )
            error = self._router.refusals.turn_away(endpoint, head.arrival_s, head.slo_s) if refused else None
            if CODING in head.kept:
                self._intake.shedding.record_beside(endpoint)
            else:
                refused = isinstance(error, Infeasible) and head.slo_s is None
                self._intake.shedding.record(endpoint, refused=refused)
            if error is not None:
                raise error
            request = decode(body, info, json_bytes)
            if not watched:
                return await self._infer(info, request, head, watched)
            task = asyncio.current_task()
            assert task is not None
            watch = ClientWatch(receive, task.cancel)
            try:
                return await self._infer(info, request, head, watched)
            except asyncio.CancelledError:
                if not watch.gone:
                    raise
                task.uncancel()
                raise ClientGone from None
            finally:
                watch.end()
        finally:
            error = None  # its traceback has this frame: a cycle, which would keep the body for long
            self._intake.end()

    async def _infer(
        self, info: EndpointInfo, request: InferRequest, head: Head, watched: bool
    ) -> tuple[Headers, bytes]:
        """A decoded request to its answer; raises `AccordError`."""
        objective_s = self._router.plan.endpoints[info.name].slo_s  # before a plan may come that has it no more
        answer, request_id, marks = await self._inference.infer(info, request, head)
        self._intake.wait.took(answer.latency_s, answer.run_s, max(answer.query.allowed_s, objective_s))
        body, json_bytes = encode(request, answer, info, request_id, marks)
        headers = [_JSON] if json_bytes is None else [_BYTES, (BINARY, b"%d" % json_bytes)]
        headers += _echoed(head.kept, watched)
        if len(body) >= LEAST_BYTES and ACCEPTED in head.kept:
            body, coding = await compressed(body, head.kept[ACCEPTED])
            headers.append(_VARIES)
            if coding is not None:
                headers.append((CODING, coding))
        return headers, body


def _echoed(given: Mapping[bytes, bytes], watched: bool) -> Headers:
    """What goes back of a request's headers; its id but where Serve is on the way, which gives that back itself."""
    headers = []
    if watched and REQUEST_ID in given:
        headers.append((REQUEST_ID, given[REQUEST_ID]))
    if TRACE_PARENT in given:
        headers.append((TRACE_PARENT, given[TRACE_PARENT]))
    return headers


def _below_root(scope: Scope) -> str:
    """The path without the prefix of the application, which may be anything."""
    path: str = scope["path"]
    return path[len(scope.get("root_path", "")) :]


def inferred_endpoint(path: str) -> str | None:
    """The endpoint that ``/v2/models/{endpoint}[/versions/{version}]/infer`` names; None for another path."""
    if not path.startswith(MODELS) or not path.endswith(INFER):
        return None
    endpoint, *version = path[len(MODELS) : -len(INFER)].split("/")
    if version and (len(version) != 2 or version[0] != "versions"):
        return None
    return endpoint

"""The HTTP edge: bytes in, bytes out.

Inference requests are decoded, submitted and answered here without a web framework in between, since they are
all of the load; everything else goes to the FastAPI application of `serve_app.http.api`.
"""

import logging
from collections.abc import Callable
from itertools import count
from typing import Any

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from catalog.errors import AccordError, BadRequest, MethodNotAllowed, TooLarge
from deployments.router.feedback.labels import Labels
from deployments.router.router import Router
from dispatch.refusals import unknown_endpoint
from serve_app.http import oip
from serve_app.http.emulated_marks import emulated_variants
from serve_app.http.endpoint_info import EndpointInfo

logger = logging.getLogger("ray.serve")

_JSON = (b"content-type", b"application/json")
MODELS = "/v2/models/"


class Edge:
    """An ASGI application; lives on the router's event loop.

    ``name`` makes request ids unique beside other routers; ``clock`` says when an answer goes out.
    """

    def __init__(
        self,
        name: str,
        router: Router,
        endpoints: dict[str, EndpointInfo],
        max_body_bytes: int,
        other: ASGIApp,
        labels: Labels,
        clock: Callable[[], float],
    ) -> None:
        self._name = name
        self._router = router
        self._endpoints = endpoints
        self._max_body_bytes = max_body_bytes
        self._other = other
        self._labels = labels
        self._clock = clock
        self._ids = count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event."""
        if scope["type"] == "http":
            endpoint = inferred_endpoint(scope["path"][len(scope.get("root_path", "")) :])
            if endpoint is not None:
                await self.serve_inference(endpoint, scope, receive, send)
                return
        await self._other(scope, receive, send)

    async def serve_inference(self, endpoint: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one inference request, with the result or with ``{"error": ...}``."""
        try:
            if scope["method"] != "POST":
                raise MethodNotAllowed(f"inference takes POST, not {scope['method']}")
            status, body = 200, await self.infer(endpoint, await self._body(scope, receive))
        except AccordError as error:
            status, body = error.status, error_body(error)
        except _ClientGone:
            return
        except Exception:
            logger.exception("An inference request failed in the router.")
            status, body = (
                500,
                orjson.dumps(
                    {"error": "internal error in the router; see its log", "reason": "Internal", "retryable": False}
                ),
            )
        headers = [_JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def infer(self, endpoint: str, body: bytes) -> bytes:
        """Body of a request to body of its answer; raises `AccordError`."""
        info = self._endpoints.get(endpoint)
        if info is None:
            raise unknown_endpoint(endpoint, self._endpoints)
        request = oip.decode(body, info)
        answer = await self._router.infer(endpoint, request.inputs, request.rows, request.slo_s, request.accuracy)
        marked = emulated_variants(self._router, info)
        emulated = bool(marked) and not marked.isdisjoint(answer.variants)
        # Not the query's own number: an answer from another router has that router's.
        request_id = request.id if request.id is not None else f"{self._name}-{next(self._ids)}"
        self._labels.remember(endpoint, request_id, answer, self._clock())
        return oip.encode(request, answer, info, request_id, emulated)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        for header, value in scope["headers"]:
            if header == b"content-length" and value.isdigit() and int(value) > self._max_body_bytes:
                raise self._too_large(int(value))
            if header == b"inference-header-content-length":
                raise BadRequest("binary tensors are not served; send the tensors' data in JSON")
        message = await receive()
        parts: list[bytes] = [message.get("body", b"")]
        size_bytes = len(parts[0])
        while message.get("more_body") and size_bytes <= self._max_body_bytes:
            message = await receive()
            parts.append(message.get("body", b""))
            size_bytes += len(parts[-1])
        if size_bytes > self._max_body_bytes:
            raise self._too_large(size_bytes)
        if message["type"] == "http.disconnect":
            raise _ClientGone
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _too_large(self, size_bytes: int) -> TooLarge:
        return TooLarge(
            f"the body has {size_bytes} bytes and may have {self._max_body_bytes}; "
            "split the batch or raise max_body_bytes"
        )


class _ClientGone(Exception):
    """The client left before its request was complete."""


def inferred_endpoint(path: str) -> str | None:
    """The endpoint that ``/v2/models/{endpoint}[/versions/{version}]/infer`` names; None for another path.

    An endpoint has one version, 1.
    """
    if not path.startswith(MODELS) or not path.endswith("/infer"):
        return None
    endpoint, *version = path[len(MODELS) : -len("/infer")].split("/")
    if version not in ([], ["versions", "1"]):
        return None
    return endpoint


def error_body(error: AccordError) -> bytes:
    """What a client sees of an error: the message, and its kind for machines."""
    content: dict[str, Any] = {"error": str(error), "reason": type(error).__name__, "retryable": error.retryable}
    return orjson.dumps(content)

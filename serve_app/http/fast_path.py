"""The short way from the HTTP server of a router replica to its edge.

In high-throughput mode HAProxy talks straight to an HTTP server inside the router replica, where Serve wraps
every request in some 200 microseconds of bookkeeping (request metrics, a slot, a disconnect watch). Serve
lets an operator put Starlette middleware around that server (``RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH``);
ours hands inference requests to the edge of this process and everything else on. Admission, deadlines and
counts are the dispatcher's in either way. Without the variable, or in default mode, where the HTTP server
lives in a proxy process that has no edge, requests take the ordinary way and get the same answers.
"""

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from serve_app.grpc.call_deadline import keep_call_deadlines
from serve_app.grpc.listening import listen_by_environment
from serve_app.http.edge import Edge, inferred_endpoint
from serve_app.http.intake import DIRECT

_edge: Edge | None = None


def install(edge: Edge) -> None:
    """Called by the router replica once its edge can serve; only for an application at the route ``/``."""
    global _edge
    _edge = edge


class FastPath:
    """ASGI middleware around the HTTP server of this process."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Inference to the edge, the rest to Serve."""
        if _edge is not None and scope["type"] == "http":
            scope[DIRECT] = True
            endpoint = inferred_endpoint(scope["path"])
            if endpoint is not None:
                await _edge.serve_inference(endpoint, scope, receive, send, watched=True)
                return
        await self._app(scope, receive, send)


def middlewares() -> list[Middleware]:
    """What the variable names: ``serve_app.http.fast_path.middlewares``.

    Serve calls it in every process that serves HTTP, before it starts a gRPC server there.
    """
    listen_by_environment()
    keep_call_deadlines()
    return [Middleware(FastPath)]

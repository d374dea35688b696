"""Routes with a body of JSON, whatever content type a client names."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

JSON = (b"content-type", b"application/json")


class JsonRoute(APIRoute):
    """Reads every body as JSON, as inference does: ``curl -d`` names the content type of a form, other clients none.

    FastAPI would take a body of another content type for bytes, and refuse it.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a request that says it has JSON."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            headers = [each for each in request.scope["headers"] if each[0].lower() != b"content-type"]
            return await handle(Request({**request.scope, "headers": [*headers, JSON]}, request.receive))

        return handle_json

"""Lets requests in whose callers may make them, and answers the others."""

from collections.abc import Iterable

import orjson
from starlette._utils import get_route_path
from starlette.types import Scope, Send

from catalog.errors import AccordError, Forbidden, Unauthenticated
from serve_app.http.security.caller import Caller, Role, remember
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.roles import needed_roles

INFER = frozenset({Role.INFER})


class Gate:
    """Stands before inference and before everything else; both ways in come through it.

    ``credentials`` may be replaced at any time.
    """

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials

    async def admits_inference(self, scope: Scope, send: Send) -> bool:
        """Whether an inference request may go on; it is answered where it may not."""
        return await self._admits(scope, send, INFER)

    async def admits(self, scope: Scope, send: Send) -> bool:
        """Whether any other request may go on; it is answered where it may not."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":  # none is served
                await send({"type": "websocket.close", "code": 1008})
            return bool(scope["type"] == "lifespan")
        needed = needed_roles(scope["method"], get_route_path(scope))
        return not needed or await self._admits(scope, send, needed)

    async def _admits(self, scope: Scope, send: Send, needed: frozenset[Role]) -> bool:
        try:
            remember(scope, self.caller(scope["headers"], needed))
        except (Unauthenticated, Forbidden) as error:
            await _refuse(error, send)
            return False
        return True

    def caller(self, headers: Iterable[tuple[bytes, bytes]], needed: frozenset[Role]) -> Caller:
        """Who sent these headers, with one of the roles; raises `Unauthenticated` or `Forbidden`."""
        caller = self.credentials.caller(headers)
        if needed.isdisjoint(caller.roles):
            raise Forbidden(
                f"{caller.name!r} has the roles {_words(caller.roles)}, and this needs {_words(needed, 'or')}; "
                "use another key, or give this one the role"
            )
        return caller


def _words(roles: frozenset[Role], last: str = "and") -> str:
    return f" {last} ".join(sorted(roles)) or "none"


async def _refuse(error: AccordError, send: Send) -> None:
    content = {"error": str(error), "reason": type(error).__name__, "retryable": error.retryable}
    body = orjson.dumps(content)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if isinstance(error, Unauthenticated):
        headers.append((b"www-authenticate", b'Bearer realm="accord"'))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

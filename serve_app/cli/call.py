"""Single calls to a running server."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import aiohttp
import orjson

from catalog.errors import AccordError
from serve_app.cli.credentials import key_headers
from serve_app.loadgen.dataset import JSON_BYTES
from serve_app.loadgen.failure import CATCH, describe_failure

AS_JSON = MappingProxyType({"Content-Type": "application/json"})

START_HINT = (
    "start the server with `make run`, `accord run CONFIG` or `serve run configs/quickstart.yaml`, "
    "wait while it starts, or name another with --url"
)


class CallFailed(AccordError):
    """The server did not answer, or not with what was asked for. Raised by the command line only."""


@dataclass(frozen=True)
class Reply:
    """Status and content of an HTTP answer; ``json_bytes`` says how many of these are JSON, where tensors follow."""

    status: int
    content: bytes
    json_bytes: str | None = None


async def call(
    url: str,
    server_url: str,
    timeout_s: float,
    body: bytes | None = None,
    method: str | None = None,
    headers: Mapping[str, str] = AS_JSON,
) -> Reply:
    """GET ``url``, or POST ``body`` to it, or as ``method`` says; raises `CallFailed` where no answer comes back."""
    usual, sent = ("GET", {}) if body is None else ("POST", dict(headers))
    sent |= key_headers()
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout_s)) as session,
            session.request(method or usual, url, data=body, headers=sent) as response,
        ):
            return Reply(response.status, await response.read(), response.headers.get(JSON_BYTES))
    except CATCH as error:
        _, text = describe_failure(error, server_url, timeout_s)
        raise CallFailed(f"{text}; {START_HINT}") from error


async def get_object(url: str, server_url: str, timeout_s: float) -> dict[str, Any]:
    """The JSON object at ``url``; raises `CallFailed` with the server's own words where it refuses."""
    return _object(url, await call(url, server_url, timeout_s))


async def post_object(url: str, server_url: str, timeout_s: float, body: bytes) -> dict[str, Any]:
    """The JSON object that answers the JSON ``body``; raises as `get_object` does."""
    return _object(url, await call(url, server_url, timeout_s, body))


async def delete_object(url: str, server_url: str, timeout_s: float) -> dict[str, Any]:
    """The JSON object that answers a DELETE; raises as `get_object` does."""
    return _object(url, await call(url, server_url, timeout_s, method="DELETE"))


def _object(url: str, reply: Reply) -> dict[str, Any]:
    try:
        body = orjson.loads(reply.content)
    except orjson.JSONDecodeError:
        body = None
    if reply.status not in (200, 201) or not isinstance(body, dict):
        said = body.get("error") if isinstance(body, dict) else None
        raise CallFailed(f"{url} answered {reply.status}: {said or 'no JSON object; is this an Accord server?'}")
    return body

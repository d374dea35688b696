"""Bodies of everything but inference: bounded, and answered in a few words."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from security_scene import gated_edge

from serve_app.config.security import SecurityConfig

LIMIT = 10_000
"""Of the scene's edge."""


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=gated_edge(SecurityConfig()), raise_app_exceptions=True)
    async with httpx2.AsyncClient(transport=transport, base_url="http://accord") as made:
        yield made


@pytest.mark.parametrize("path", ["/accord/variants", "/accord/plan/simulate", "/v2/models/x/feedback"])
async def test_a_body_that_is_too_large_gets_413_with_and_without_a_length(
    client: httpx2.AsyncClient, path: str
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(LIMIT // 100 + 1):
            yield b" " * 100

    for content in (b" " * (LIMIT + 1), parts()):
        response = await client.post(path, content=content, headers={"Content-Type": "application/json"})
        assert (response.status_code, response.json()["reason"]) == (413, "TooLarge")


def wrong_bodies() -> Iterator[bytes]:
    yield b"[" * 9_000
    yield b"[" * 4_900 + b"]" * 4_900
    yield b"9" * 9_000
    yield b'{"load_qps": {"digits": NaN}}'
    yield b'{"load_qps": {"digits": 1e999}}'
    yield json.dumps({f"{i}" * 900: i for i in range(9)}).encode()
    yield json.dumps({str(i): i for i in range(700)}).encode()
    yield json.dumps({"name": "x" * 9_000}).encode()
    yield json.dumps({"id": "x" * 2_000, "label": 1}).encode()
    yield json.dumps({"id": "x", "label": 2**70}).encode()
    yield json.dumps({"feedback": [[]] * 2_000}).encode()
    yield b'"\\ud800"'
    yield b"\xff\xfe"
    yield b""
    yield b"null"


@pytest.mark.parametrize("body", list(wrong_bodies()), ids=range(15))
async def test_a_wrong_body_is_refused_in_a_few_words(client: httpx2.AsyncClient, body: bytes) -> None:
    for path in ("/accord/variants", "/accord/plan/simulate", "/v2/models/x/feedback"):
        for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded", ""):
            response = await client.post(path, content=body, headers={"Content-Type": kind})
            answer: dict[str, Any] = response.json()
            assert response.status_code in (400, 404)
            assert set(answer) == {"error", "reason", "retryable"}
            assert len(answer["error"]) < 8_000

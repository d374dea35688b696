"""The gate before both ways in: who may do what, however the path is written."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from security_scene import gated_edge, jwt_config, new_key, secret_file, signed
from starlette.types import Message, Scope

from serve_app.config.security import SecurityConfig
from serve_app.http.security.caller import ANYONE, Role, caller_of

KEYS = {role: new_key() for role in ("infer", "observe", "admin")}
SECRET = new_key()
INFER = "/v2/models/digits/infer"


class Controller:
    """Answers a plan; everything else fails the test."""

    async def plan(self) -> dict[str, Any]:
        return {"version": 3}


@pytest.fixture
def security(tmp_path: Path) -> SecurityConfig:
    keys = {role: {"file": secret_file(tmp_path, key, role), "roles": [role]} for role, key in KEYS.items()}
    token = jwt_config("HS256", secret_file(tmp_path, SECRET, "jwt"))
    return SecurityConfig.model_validate({"api_keys": keys, "jwt": token})


@pytest.fixture
async def client(security: SecurityConfig) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=gated_edge(security, Controller()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://accord") as made:
        yield made


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("path", ["/v2/health/live", "/v2/health/ready"])
async def test_health_is_open(client: httpx2.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "roles"),
    [
        ("POST", INFER, {"infer"}),
        ("POST", "/v2/models/digits/versions/1/infer", {"infer"}),
        ("POST", "/v2/models/digits/versions/2/infer", {"infer"}),  # which is not there
        ("GET", INFER, {"infer"}),
        ("GET", "/v2", {"infer", "observe"}),
        ("GET", "/v2/models/digits", {"infer", "observe"}),
        ("GET", "/v2/models/stats/config", {"infer", "observe"}),
        ("GET", "/v2/models/stats", {"observe"}),
        ("GET", "/v2/models/digits/stats", {"observe"}),
        ("GET", "/accord/status", {"observe"}),
        ("GET", "/accord/plan", {"observe"}),
        ("GET", "/openapi.json", {"observe"}),
        ("GET", "/docs", {"observe"}),
        ("GET", "/nowhere", {"observe"}),
        ("POST", "/accord/plan/simulate", {"admin"}),
        ("POST", "/accord/variants", {"admin"}),
        ("POST", "/v2/models/digits/feedback", {"admin"}),
        ("DELETE", "/accord/variants", {"admin"}),
        ("POST", "/nowhere", {"admin"}),
    ],
)
async def test_a_request_needs_a_key_with_its_role(
    client: httpx2.AsyncClient, method: str, path: str, roles: set[str]
) -> None:
    nobody = await client.request(method, path)
    assert nobody.status_code == 401
    assert nobody.headers["www-authenticate"] == 'Bearer realm="accord"'
    if method != "HEAD":
        assert nobody.json() == {"error": nobody.json()["error"], "reason": "Unauthenticated", "retryable": False}
    for role, key in KEYS.items():
        if role not in roles:
            response = await client.request(method, path, headers=bearer(key))
            assert (response.status_code, response.json()["reason"]) == (403, "Forbidden")
        elif path not in ("/accord/status", "/v2/models/stats"):  # need a router
            for headers in (bearer(key), {"X-Api-Key": key}, {"authorization": f"bEaReR  {key}"}):
                response = await client.request(method, path, headers=headers)
                assert response.status_code not in (401, 403, 500)


@pytest.mark.parametrize(
    "path",
    [
        "/v2/models//infer",
        "//v2/models/digits/infer",
        "/v2/models/digits/infer/",
        "/v2/models/digits//infer",
        "/v2/models/digits/infer%0a",
        "/v2/models/digits%2finfer",
        "/v2/models/digits%2Ffeedback",
        "/V2/models/digits/infer",
        "/v2/models/digits/INFER",
        "/v2/models/digits/./infer",
        "/v2/health/../models/digits/infer",
        "/v2/health/live%2f..%2f..%2fmodels%2fdigits%2finfer",
        "/v2/health/live/",
        "/v2/health/live%0a",
        "/v2/health/live;/../../accord/variants",
        "/v2/models/x/ready%0a",
        "/accord/variants/",
        "/accord//variants",
        "/accord/variants%0a",
        "/ACCORD/variants",
        "/accord/variants?/v2/health/live",
        "/%61ccord/variants",
        "/accord/variants%00",
        "/%2e%2e/accord/variants",
        "/v2/models/digits/feedback%0a",
        "/v2/models/v2/health/ready/feedback",
    ],
)
async def test_no_way_of_writing_a_path_gets_by_without_a_key(security: SecurityConfig, path: str) -> None:
    edge = gated_edge(security, Controller())
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "post", "TRACE", "CONNECT", "X"):
        for raw in (path, f"/prefix{path}"):
            decoded, query = httpx2.URL(f"http://accord{raw}").path, b""
            scope: Scope = {
                "type": "http",
                "method": method,
                "path": raw if raw.startswith("//") else decoded,
                "raw_path": raw.encode(),
                "root_path": "/prefix" if raw.startswith("/prefix") else "",
                "query_string": query,
                "headers": [],
                "app_root_path": "",
            }
            sent: list[Message] = []

            async def receive() -> Message:
                return {"type": "http.request", "body": b"{}"}

            async def send(message: Message, sent: list[Message] = sent) -> None:
                sent.append(message)

            await edge(scope, receive, send)
            assert sent[0]["status"] == 401, (method, raw)
            assert caller_of(scope) is ANYONE


@pytest.mark.parametrize(
    "headers",
    [
        [("Authorization", KEYS["infer"])],
        [("Authorization", f"Basic {KEYS['infer']}")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", f"Bearer {KEYS['infer']} {KEYS['admin']}")],
        [("Authorization", f"Bearer {KEYS['infer'][:-1]}")],
        [("Authorization", f"Bearer {new_key()}")],
        [("Authorization", "Bearer \u00ff\u00fe")],
        [("Authorization", "Bearer " + "x" * 50_000)],
        [("Authorization", "Bearer " + "." * 50_000)],
        [("X-Api-Key", "")],
        [("X-Api-Key", f"Bearer {KEYS['infer']}")],
        [("X-Api-Key", KEYS["infer"]), ("Authorization", f"Bearer {KEYS['infer']}")],
        [("X-Api-Key", KEYS["infer"]), ("X-Api-Key", KEYS["infer"])],
        [("X-Api-Key", signed(SECRET, "HS256"))],
        [("Cookie", f"key={KEYS['infer']}")],
        [("Proxy-Authorization", f"Bearer {KEYS['infer']}")],
    ],
)
async def test_what_is_not_exactly_one_key_is_refused_and_never_repeated(
    client: httpx2.AsyncClient, headers: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    response = await client.post(f"{INFER}?key={KEYS['infer']}", headers=encoded, json={})
    assert response.status_code == 401
    assert not any(key in response.text + caplog.text for key in KEYS.values())


async def test_a_token_is_as_good_as_a_key(client: httpx2.AsyncClient) -> None:
    for role, status in (("infer", 404), ("observe", 403)):
        response = await client.post(INFER, headers=bearer(signed(SECRET, "HS256", roles=[role])), json={})
        assert response.status_code == status
    expired = bearer(signed(SECRET, "HS256", exp=1))
    assert "expired" in (await client.post(INFER, headers=expired, json={})).json()["error"]


async def test_who_was_let_in_is_known_behind_the_gate(security: SecurityConfig) -> None:
    edge = gated_edge(security, Controller())
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        seen.append(scope)
        await edge(scope, receive, send)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://accord") as client:
        await client.post(INFER, headers=bearer(KEYS["infer"]), json={})
        await client.get("/accord/plan", headers=bearer(signed(SECRET, "HS256", sub="ops", roles=["observe"])))
    assert [caller_of(scope).name for scope in seen] == ["infer", "jwt:ops"]
    assert caller_of(seen[0]).roles == {Role.INFER}


async def test_a_websocket_is_closed(security: SecurityConfig) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    await gated_edge(security)({"type": "websocket", "path": "/docs", "headers": []}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


async def test_without_keys_everybody_is_served() -> None:
    transport = httpx2.ASGITransport(app=gated_edge(SecurityConfig(), Controller()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://accord") as client:
        assert (await client.get("/accord/plan")).json() == {"version": 3}
        assert (await client.post(INFER, json={})).status_code == 404

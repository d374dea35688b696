"""Who may call, in the config."""

from pathlib import Path
from typing import Any

import pytest

from catalog.errors import ConfigError
from serve_app.build.assemble import resolve_paths
from serve_app.config.read import app_config
from serve_app.config.security import SecurityConfig, exposed_without_keys, is_loopback

APP = {"endpoints": {"digits": {"task": "digits", "slo_ms": 100}}, "pools": {"cpu": {}}}
JWT = {"algorithm": "HS256", "env": "SECRET", "issuer": "https://issuer.example", "audience": "accord"}


@pytest.mark.parametrize(
    ("security", "message"),
    [
        ({"api_keys": {"shop": {}}}, "give either env"),
        ({"api_keys": {"shop": {"env": "A", "file": "b"}}}, "give either env"),
        ({"api_keys": {"shop": {"key": "in clear"}}}, "security.api_keys.shop"),
        ({"api_keys": {"shop": {"env": "A", "roles": ["root"]}}}, "roles"),
        ({"api_keys": {"shop": {"env": "A", "roles": []}}}, "roles"),
        ({"api_keys": {"shop": {"env": "A B"}}}, "env"),
        ({"api_keys": {"../shop": {"env": "A"}}}, "api_keys"),
        ({"jwt": JWT | {"algorithm": "none"}}, "algorithm"),
        ({"jwt": JWT | {"algorithm": ["RS256", "HS256"]}}, "algorithm"),
        ({"jwt": {name: value for name, value in JWT.items() if name != "audience"}}, "audience"),
        ({"jwt": JWT | {"issuer": ""}}, "issuer"),
        ({"anonymous": True, "jwt": JWT}, "anonymous is true, and there are api_keys or jwt"),
    ],
)
def test_what_is_wrong_with_security_is_named(security: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        app_config(APP | {"security": security})


KEYS = {"api_keys": {"acmeX": {"env": "A"}, "shop": {"env": "B"}}}


@pytest.mark.parametrize(
    ("security", "name", "message"),
    [
        (KEYS, "acme", r"clients.named.acme: no client is called 'acme' \(did you mean 'acmeX'\?\); .* acmeX, shop;"),
        (KEYS, "jwt:ann", "clients.named.jwt:ann is for the subject of a token, and no tokens are taken"),
        (
            {"jwt": JWT},
            "ann",
            "no client is called 'ann'; there are no security.api_keys; name one of those, or `jwt:`",
        ),
        ({}, "shop", "no client is called 'shop'; there are no security.api_keys"),
    ],
)
def test_a_limit_of_a_client_that_cannot_be_is_refused(security: dict[str, Any], name: str, message: str) -> None:
    clients = {"rate_qps": 5, "named": {name: {"rate_qps": 50}}}
    with pytest.raises(ConfigError, match=message):
        app_config(APP | {"security": security, "clients": clients})


@pytest.mark.parametrize("name", ["acme", "jwt:ann"])
def test_with_a_header_any_name_may_be_limited(name: str) -> None:
    clients = {"rate_qps": 5, "named": {name: {"rate_qps": 50}}, "header": "x-accord-client"}
    assert app_config(APP | {"clients": clients}).clients.header == "x-accord-client"


@pytest.mark.parametrize("security", [KEYS, {"jwt": JWT}, KEYS | {"jwt": JWT}])
def test_a_header_beside_keys_or_tokens_is_refused(security: dict[str, Any]) -> None:
    clients = {"rate_qps": 5, "header": "x-accord-client"}
    with pytest.raises(ConfigError, match=r"clients\.header is 'x-accord-client', .* would not be looked at; remove"):
        app_config(APP | {"security": security, "clients": clients})


def test_limits_of_keys_and_subjects_are_taken() -> None:
    named = {"shop": {"rate_qps": 50}, "jwt:ann": {"rate_qps": 5}}
    app = app_config(APP | {"security": KEYS | {"jwt": JWT}, "clients": {"named": named}})
    assert set(app.clients.named) == set(named)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "localhost", "LOCALHOST", "::1", "[::1]"])
def test_on_loopback_nobody_has_to_say_who_they_are(host: str) -> None:
    assert is_loopback(host)
    assert exposed_without_keys(SecurityConfig(), host) is None


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.1.2.3", "example.com", "localhost.example.com", "127.0.0.1.nip.io"]
)
def test_elsewhere_keys_are_asked_for_or_waived(host: str) -> None:
    wrong = exposed_without_keys(SecurityConfig(), host)
    assert wrong is not None
    assert "security.api_keys" in wrong
    assert "anonymous: true" in wrong
    assert exposed_without_keys(SecurityConfig(anonymous=True), host) is None
    keys = SecurityConfig.model_validate({"api_keys": {"shop": {"env": "SHOP_KEY"}}})
    assert exposed_without_keys(keys, host) is None


def test_files_of_keys_are_found_beside_where_the_service_is_started(tmp_path: Path) -> None:
    security = {
        "api_keys": {"shop": {"file": "shop.key"}, "staff": {"env": "A"}},
        "jwt": {**JWT, "env": None, "file": "/j"},
    }
    resolved = resolve_paths(app_config(APP | {"security": security}), tmp_path).security
    assert resolved.api_keys["shop"].file == str(tmp_path / "shop.key")
    assert resolved.api_keys["staff"].file is None
    assert resolved.jwt is not None
    assert resolved.jwt.file == "/j"

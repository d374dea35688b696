"""JSON Web Tokens: who is believed, and every way of not being."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from security_scene import (
    AUDIENCE,
    claims,
    ec_key,
    jwt_config,
    new_key,
    private_pem,
    public_pem,
    rsa_key,
    secret_file,
    signed,
)

from catalog.errors import ConfigError, Unauthenticated
from serve_app.config.security import JwtConfig
from serve_app.http.security.caller import Caller, Role
from serve_app.http.security.tokens import CACHED, LEEWAY_S, Tokens

RSA, EC, SECRET = rsa_key(), ec_key(), new_key()
KEYS: dict[str, tuple[Any, str]] = {
    "HS256": (SECRET, SECRET),
    "RS256": (RSA, public_pem(RSA)),
    "ES256": (EC, public_pem(EC)),
}


@pytest.fixture(params=list(KEYS))
def algorithm(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tokens(folder: Path, algorithm: str, **options: Any) -> Tokens:
    file = secret_file(folder, KEYS[algorithm][1])
    return Tokens(JwtConfig.model_validate(jwt_config(algorithm, file)), **options)


def part(content: Any) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=")


def test_a_good_token_names_its_subject_and_roles(tmp_path: Path, algorithm: str) -> None:
    known = tokens(tmp_path, algorithm)
    key = KEYS[algorithm][0]
    assert known.caller(signed(key, algorithm).encode()) == Caller("jwt:shop", frozenset({Role.INFER}))
    words = signed(key, algorithm, roles="observe admin root", aud=["other", AUDIENCE])
    assert known.caller(words.encode()).roles == {Role.OBSERVE, Role.ADMIN}
    for nothing in (None, 7, {"infer": True}, [["infer"], 1, "INFER"]):
        assert known.caller(signed(key, algorithm, roles=nothing).encode()).roles == frozenset()


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another"},
        {"exp": 1},
        {"exp": "soon"},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"sub": ""},
        {"sub": "x" * 257},
        *({name: None} for name in ("iss", "aud", "exp", "sub")),
    ],
)
def test_a_token_of_another_issuer_audience_or_time_is_not_believed(
    tmp_path: Path, algorithm: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(Unauthenticated):
        tokens(tmp_path, algorithm).caller(signed(KEYS[algorithm][0], algorithm, **changes).encode())


def test_a_token_signed_with_another_key_or_changed_afterwards_is_not_believed(tmp_path: Path, algorithm: str) -> None:
    known = tokens(tmp_path, algorithm)
    stranger = {"HS256": new_key(), "RS256": rsa_key(), "ES256": ec_key()}[algorithm]
    good = signed(KEYS[algorithm][0], algorithm).encode()
    head, body, signature = good.split(b".")
    mine = b".".join((head, part(claims(roles=["admin"])), signature))
    for forged in (
        signed(stranger, algorithm).encode(),
        mine,
        head + b"." + body + b".",
        b"..",
        good[:-8],
        b"\xff.a.b",
    ):
        with pytest.raises(Unauthenticated):
            known.caller(forged)


@pytest.mark.parametrize("name", ["none", "None", "NONE", "nOnE", ""])
def test_a_token_that_is_not_signed_is_not_believed(tmp_path: Path, algorithm: str, name: str) -> None:
    unsigned = b".".join((part({"alg": name, "typ": "JWT"}), part(claims()), b""))
    with pytest.raises(Unauthenticated):
        tokens(tmp_path, algorithm).caller(unsigned)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_public_key_is_never_taken_for_a_shared_secret(tmp_path: Path, algorithm: str) -> None:
    head, body = part({"alg": "HS256", "typ": "JWT"}), part(claims())
    pem = KEYS[algorithm][1]
    known = tokens(tmp_path, algorithm)
    for secret in (pem.encode(), pem.strip().encode()):
        signature = hmac.new(secret, head + b"." + body, hashlib.sha256).digest()
        token = b".".join((head, body, base64.urlsafe_b64encode(signature).rstrip(b"=")))
        with pytest.raises(Unauthenticated):
            known.caller(token)


def test_a_token_of_another_algorithm_is_not_believed_though_its_signature_is_right(tmp_path: Path) -> None:
    with pytest.raises(Unauthenticated):
        tokens(tmp_path, "HS256").caller(signed(SECRET, "HS512").encode())
    with pytest.raises(Unauthenticated):
        tokens(tmp_path, "RS256").caller(signed(RSA, "PS256").encode())


def test_a_token_is_remembered_until_it_expires_and_not_longer(tmp_path: Path) -> None:
    now_s = 0.0
    token = signed(SECRET, "HS256").encode()
    expires_s = claims()["exp"]
    known = tokens(tmp_path, "HS256", clock=lambda: now_s)
    caller = known.caller(token)
    assert known.caller(token) is caller
    now_s = expires_s + LEEWAY_S + 2
    assert known.caller(token) is not caller, "verified anew: by the real clock it is still good"


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    known = tokens(tmp_path, "HS256")
    first = signed(SECRET, "HS256", sub="first").encode()
    caller = known.caller(first)
    for number in range(CACHED):
        known.caller(signed(SECRET, "HS256", sub=str(number)).encode())
    assert len(known._verified) == CACHED
    assert known.caller(first) == caller
    assert known.caller(first) is not caller


@pytest.mark.parametrize(
    ("algorithm", "content"),
    [
        ("HS256", "a" * 31),
        ("HS256", public_pem(RSA)),
        ("RS256", SECRET),
        ("RS256", private_pem(RSA)),
        ("RS256", public_pem(EC)),
        ("RS256", public_pem(rsa_key(1024))),
        ("ES256", public_pem(RSA)),
        ("ES256", private_pem(EC)),
    ],
    ids=[
        "HS256 short",
        "HS256 public",
        "RS256 secret",
        "RS256 private",
        "RS256 EC",
        "RS256 short",
        "ES256 RSA",
        "ES256 private",
    ],
)
def test_a_key_that_is_none_for_the_algorithm_stops_the_start(tmp_path: Path, algorithm: str, content: str) -> None:
    file = secret_file(tmp_path, content)
    with pytest.raises(ConfigError, match=r"security\.jwt: .*give ") as refused:
        Tokens(JwtConfig.model_validate(jwt_config(algorithm, file)))
    assert content not in str(refused.value)

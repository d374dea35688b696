"""Keys, tokens and certificates made at random, and an edge behind a gate."""

import secrets
import time
from pathlib import Path
from typing import Any, cast

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from deployments.controller.client import ControllerClient
from deployments.router.feedback.feedback import Feedback
from deployments.router.feedback.labels import Labels
from deployments.router.router import Router
from serve_app.config.security import SecurityConfig
from serve_app.http.api import build_api
from serve_app.http.edge import Edge
from serve_app.http.in_front.refusals import ProxyRefusals
from serve_app.http.in_front.request_age import RequestAge
from serve_app.http.in_front.shedding import FrontShedding
from serve_app.http.in_front.wait import FrontWait
from serve_app.http.intake import Intake, IntakeLimits
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.gate import Gate
from serve_app.oip.inference import Inference

ISSUER, AUDIENCE = "https://issuer.example", "accord"


def new_key() -> str:
    return secrets.token_hex(32)


def secret_file(folder: Path, content: str, name: str = "key") -> str:
    path = folder / name
    path.write_text(content)
    path.chmod(0o600)
    return str(path)


def public_pem(private: Any) -> str:
    kind, form = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.Encoding.PEM
    return str(private.public_key().public_bytes(form, kind).decode())


def private_pem(private: Any) -> str:
    no_password = serialization.NoEncryption()
    pkcs8, form = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    return str(private.private_bytes(form, pkcs8, no_password).decode())


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def claims(**changes: Any) -> dict[str, Any]:
    """What a good token says; None leaves a claim out."""
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "shop", "exp": int(time.time()) + 300, "roles": ["infer"]}
    return {name: value for name, value in (good | changes).items() if value is not None}


def signed(key: Any, algorithm: str, **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm)


def jwt_config(algorithm: str, file: str) -> dict[str, str]:
    return {"algorithm": algorithm, "file": file, "issuer": ISSUER, "audience": AUDIENCE}


def gated_edge(security: SecurityConfig, controller: object = None) -> Edge:
    """An edge without endpoints; whoever gets by the gate of inference learns that there is none."""
    api = build_api(cast(Router, None), {}, cast(ControllerClient, controller), cast(Feedback, None))
    gate = Gate(Credentials(security)) if security.required else None
    limits = IntakeLimits(max_body_bytes=10_000, body_timeout_s=10.0, max_requests=100)
    intake = Intake(
        limits,
        RequestAge(""),
        FrontWait(0.1, time.monotonic),
        FrontShedding([], time.monotonic),
        ProxyRefusals(""),
        None,
        time.monotonic,
    )
    inference = Inference("router", cast(Router, None), {}, cast(Labels, None), time.monotonic)
    return Edge(inference, cast(Router, None), intake, api, gate)

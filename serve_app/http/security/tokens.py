"""JSON Web Tokens of one issuer."""

import hashlib
import time
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import get_default_algorithms

from catalog.errors import ConfigError, Unauthenticated
from serve_app.config.security import JwtConfig
from serve_app.http.security.caller import Caller, Role
from serve_app.http.security.secret import read_secret

LEEWAY_S = 30.0
"""Clocks may differ by so much."""
LONGEST_NAME = 256
LONGEST_TOKEN = 8192
CACHED = 4096
"""Tokens that are remembered once they were verified, each until it expires."""
RSA_BITS = 2048
HMAC_BYTES = 32

ROLES = {role.value: role for role in Role}


class Tokens:
    """Verifies a token once and remembers it until it expires.

    One algorithm is taken, the config's, whatever a token's header says. ``clock`` gives seconds since the epoch.
    Raises `ConfigError` where the key is none for the algorithm.
    """

    def __init__(self, config: JwtConfig, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._clock = clock
        self._key = _key(config)
        self._decoder = jwt.PyJWT({"require": ["exp", "iss", "aud", "sub"]})
        self._verified: dict[bytes, tuple[float, Caller]] = {}

    def caller(self, token: bytes) -> Caller:
        """Who the token names; raises `Unauthenticated`."""
        digest = hashlib.sha256(token).digest()
        known = self._verified.get(digest)
        if known is not None and self._clock() < known[0]:
            return known[1]
        if len(token) > LONGEST_TOKEN:
            raise Unauthenticated(f"the token has {len(token)} bytes and may have {LONGEST_TOKEN}")
        claims = self._claims(token)
        self._verified.pop(digest, None)
        while len(self._verified) >= CACHED:
            del self._verified[next(iter(self._verified))]  # the one that was verified first
        caller = self._caller(claims)
        self._verified[digest] = (float(claims["exp"]) + LEEWAY_S, caller)
        return caller

    def _claims(self, token: bytes) -> dict[str, Any]:
        config = self._config
        try:
            claims: dict[str, Any] = self._decoder.decode(
                token, self._key, [config.algorithm], audience=config.audience, issuer=config.issuer, leeway=LEEWAY_S
            )
        except jwt.ExpiredSignatureError as error:
            raise Unauthenticated("the token has expired; get another from its issuer") from error
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Unauthenticated(
                f"the token is none of {config.issuer!r} for {config.audience!r} signed with {config.algorithm}: "
                f"{type(error).__name__}"
            ) from error
        return claims

    def _caller(self, claims: dict[str, Any]) -> Caller:
        subject, given = claims["sub"], claims.get(self._config.role_claim, ())
        if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_NAME:
            raise Unauthenticated(f"the token's sub must be a string of 1 to {LONGEST_NAME} characters")
        words = given.split() if isinstance(given, str) else given if isinstance(given, list) else ()
        return Caller(
            f"jwt:{subject}", frozenset(ROLES[each] for each in words if isinstance(each, str) and each in ROLES)
        )


def _key(config: JwtConfig) -> Any:
    content = read_secret("security.jwt", config)
    algorithm = get_default_algorithms()[config.algorithm]
    try:
        key = algorithm.prepare_key(content)
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise ConfigError(f"security.jwt: the key is none for {config.algorithm}; give {_wanted(config)}") from error
    if config.algorithm == "HS256":
        weak = len(content) < HMAC_BYTES
    else:
        weak = hasattr(key, "private_bytes") or (isinstance(key, RSAPublicKey) and key.key_size < RSA_BITS)
    if weak:
        raise ConfigError(f"security.jwt: that is no key to check {config.algorithm} with; give {_wanted(config)}")
    return key


def _wanted(config: JwtConfig) -> str:
    return {
        "HS256": f"a secret of {HMAC_BYTES} bytes or more, which is no PEM",
        "RS256": f"an RSA public key of {RSA_BITS} bits or more in PEM",
        "ES256": "a P-256 public key in PEM",
    }[config.algorithm]

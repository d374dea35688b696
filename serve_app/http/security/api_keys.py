"""API keys of a service, known by their digests."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from catalog.errors import ConfigError
from serve_app.config.security import ApiKeyConfig
from serve_app.http.security.caller import Caller, Role
from serve_app.http.security.secret import read_secret

SHORTEST = 24
"""Characters; shorter keys can be guessed."""
VISIBLE = frozenset(range(0x21, 0x7F))


class ApiKeys:
    """Digests of keys to who has them; the keys themselves are forgotten.

    Digests are keyed with a number drawn by this process, so that how long a look-up takes tells a caller nothing
    about any key. Raises `ConfigError` where keys cannot be had.
    """

    def __init__(self, configs: Mapping[str, ApiKeyConfig]) -> None:
        self._salt = secrets.token_bytes(32)
        self._callers: dict[bytes, tuple[bytes, Caller]] = {}
        for name, config in configs.items():
            where = f"security.api_keys.{name}"
            caller = Caller(name, frozenset(map(Role, config.roles)))
            for key in read_secret(where, config).split():
                _check(where, key)
                digest = self._digest(key)
                if digest in self._callers:
                    raise ConfigError(f"{where} is the same key as {self._callers[digest][1].name!r}; make another")
                self._callers[digest] = (digest, caller)

    def caller(self, key: bytes) -> Caller | None:
        """Who has the key; None where nobody does."""
        digest = self._digest(key)
        known, caller = self._callers.get(digest, (b"", None))
        return caller if hmac.compare_digest(known, digest) else None

    def _digest(self, key: bytes) -> bytes:
        return hashlib.blake2b(key, key=self._salt, digest_size=32).digest()


def _check(where: str, key: bytes) -> None:
    if len(key) < SHORTEST or not VISIBLE.issuperset(key):
        raise ConfigError(
            f"{where}: a key has {len(key)} characters; use at least {SHORTEST} visible ASCII characters, made with "
            "`openssl rand -hex 32`"
        )

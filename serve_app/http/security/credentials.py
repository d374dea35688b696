"""From a request's headers to who sent it."""

from collections.abc import Iterable

from catalog.errors import Unauthenticated
from serve_app.config.security import SecurityConfig
from serve_app.http.security.api_keys import ApiKeys
from serve_app.http.security.caller import Caller
from serve_app.http.security.tokens import Tokens

HOW = "send a key as `Authorization: Bearer KEY` or `x-api-key: KEY`"


class Credentials:
    """Everything that callers are known by; raises `ConfigError` where that cannot be read."""

    def __init__(self, config: SecurityConfig) -> None:
        self._keys = ApiKeys(config.api_keys)
        self._tokens = None if config.jwt is None else Tokens(config.jwt)

    def caller(self, headers: Iterable[tuple[bytes, bytes]]) -> Caller:
        """Who sent a request with these headers, whose names are in lower case; raises `Unauthenticated`."""
        sent = [(name, value) for name, value in headers if name in (b"authorization", b"x-api-key")]
        if not sent:
            raise Unauthenticated(f"no key was sent; {HOW}")
        if len(sent) > 1:
            raise Unauthenticated("several keys were sent, of which one may be meant; send one")
        ((name, value),) = sent
        if name == b"authorization":
            scheme, _, value = value.partition(b" ")
            if scheme.lower() != b"bearer":
                raise Unauthenticated(f"the scheme of the authorization is not Bearer; {HOW}")
        value = value.strip()
        caller = self._keys.caller(value)
        if caller is not None:
            return caller
        if self._tokens is not None and name == b"authorization" and value.count(b".") == 2:
            return self._tokens.caller(value)
        raise Unauthenticated(f"the key is not known here; {HOW}")

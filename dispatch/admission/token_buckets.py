"""How many queries clients may send."""

from collections.abc import Mapping
from dataclasses import dataclass

MOST_CLIENTS = 10_000
"""Clients beyond so many at a time share one bucket: nobody can fill the memory with names."""


ROUNDING_S = 1e-9


@dataclass(frozen=True)
class RateLimit:
    """``rate_qps`` queries per second in the long run, ``burst`` (at least 1) at once."""

    rate_qps: float
    burst: float


class TokenBuckets:
    """A bucket of tokens for each client, by name; ``default`` is for those that are not ``named``. None is no limit.

    Each query takes a token. Kept is, as in the generic cell rate algorithm (ITU-T I.371), when a bucket would be full.
    """

    def __init__(self, default: RateLimit | None, named: Mapping[str, RateLimit | None]) -> None:
        self._default = default
        self._named = named
        self._full_s: dict[str, float] = {}

    def take(self, client: str, now_s: float) -> float:
        """0 where a token was there, which is taken; else the time until there is one, in seconds."""
        limit = self._named.get(client, self._default)
        if limit is None:
            return 0.0
        known = self._full_s
        if client not in known and len(known) >= MOST_CLIENTS:
            self._forget_full(now_s)
            if len(known) >= MOST_CLIENTS:
                client = ""
        full_s = max(known.get(client, now_s), now_s)
        wait_s = full_s - now_s - (limit.burst - 1.0) / limit.rate_qps
        if wait_s > ROUNDING_S:
            return wait_s
        known[client] = full_s + 1.0 / limit.rate_qps
        return 0.0

    def _forget_full(self, now_s: float) -> None:
        for client in [client for client, full_s in self._full_s.items() if full_s <= now_s]:
            del self._full_s[client]

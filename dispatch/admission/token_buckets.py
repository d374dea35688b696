"""How many queries clients may send."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

MOST_CLIENTS = 10_000
"""Clients beyond so many at a time share one bucket: nobody can fill the memory with names."""

SHARED = ""
"""The name of that bucket, and of clients that say none."""

SWEEP_PAUSE_S = 0.1
"""At least so long between two looks through all buckets for full ones: each takes a millisecond."""

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
        self._full_s: dict[str, float] = {SHARED: -inf}
        self._next_sweep_s = -inf

    def take(self, client: str, now_s: float) -> float:
        """0 where a token was there, which is taken; else the time until there is one, in seconds."""
        limit = self._named.get(client, self._default)
        if limit is None:
            return 0.0
        known = self._full_s
        if client not in known and not self._any_room(now_s):
            client = SHARED
        full_s = max(known.get(client, now_s), now_s)
        wait_s = full_s - now_s - (limit.burst - 1.0) / limit.rate_qps
        if wait_s > ROUNDING_S:
            return wait_s
        known[client] = full_s + 1.0 / limit.rate_qps
        return 0.0

    def _any_room(self, now_s: float) -> bool:
        """Whether another client may have a bucket of its own, where need be in place of those whose bucket is full."""
        if len(self._full_s) > MOST_CLIENTS and now_s >= self._next_sweep_s:
            self._forget_full(now_s)
        return len(self._full_s) <= MOST_CLIENTS

    def _forget_full(self, now_s: float) -> None:
        """Forget full buckets; where there are none, another look is in vain until the first of these is full."""
        for client in [client for client, full_s in self._full_s.items() if full_s <= now_s and client != SHARED]:
            del self._full_s[client]
        self._next_sweep_s = now_s + SWEEP_PAUSE_S
        if len(self._full_s) > MOST_CLIENTS:
            first_s = min([full_s for client, full_s in self._full_s.items() if client != SHARED])
            self._next_sweep_s = max(self._next_sweep_s, first_s)

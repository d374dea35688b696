"""What share of an endpoint's requests the proxy is to refuse, since workers cannot take them in time.

The proxy refuses what finds no place at a router, and no router can have fewer requests than its workers have in hand.
So where workers are short, and not the router, most refusals would be the router's, each of which takes its event loop
some time, and makes the way to the worker and back longer. The proxy refuses for a tenth of that.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

HEADER = b"x-accord-shed"

TARGET = 0.1
"""Of the requests that the proxy lets through, so many are refused by the router where the share is right: with fewer
it would not know whether there is room for more."""

STEP_S = 0.25
"""The share changes so often, and no sooner: a request that is judged now was let through a while ago."""

LEAST_REQUESTS = 16
"""In a step, for the share to rise: where few come, their refusals cost nothing worth naming."""

SHRINK_MOST, GROW = 0.5, 1.5
"""What is let through changes by no more than these factors in a step."""

LEAST_SHARE = 0.05
"""Of the requests are let through, however many come."""

MOST_BESIDE = 0.2
"""Where more of an endpoint's queries come on a way on which nothing is shed, nothing is shed at all: they would take
the place of those that are."""

FORGET_S = 1.0
"""An endpoint without a request for so long has no load to shed."""


@dataclass
class _Endpoint:
    since_s: float
    passed_share: float = 1.0
    requests: int = 0
    refused: int = 0
    beside: int = 0

    def step(self, now_s: float) -> None:
        refused = self.refused / self.requests
        if now_s - self.since_s >= FORGET_S:
            self.passed_share = 1.0
        elif refused < TARGET / 2 or self.beside > MOST_BESIDE * (self.beside + self.requests):
            self.passed_share = min(1.0, self.passed_share * GROW)
        elif self.requests >= LEAST_REQUESTS:
            factor = max(SHRINK_MOST, (1.0 - refused) / (1.0 - TARGET))
            self.passed_share = min(1.0, max(LEAST_SHARE, self.passed_share * factor))
        self.since_s, self.requests, self.refused, self.beside = now_s, 0, 0, 0


class FrontShedding:
    """Follows the requests of some endpoints; others may be named, and nothing is shed of them. ``clock`` in seconds.

    What counts as refused is for the caller to say: requests that ask for less than the objective are refused for that
    as well, and nobody else is to suffer for it.
    """

    def __init__(self, endpoints: Collection[str], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._endpoints = {name: _Endpoint(clock()) for name in endpoints}

    def record(self, endpoint: str, *, refused: bool) -> None:
        """A request that the proxy let through was looked at; ``refused`` where there are too few workers for it."""
        found = self._endpoints.get(endpoint)
        if found is None:
            return
        found.requests += 1
        found.refused += refused
        now_s = self._clock()
        if now_s - found.since_s >= STEP_S:
            found.step(now_s)

    def record_beside(self, endpoint: str) -> None:
        """A query came on a way on which nothing is shed."""
        found = self._endpoints.get(endpoint)
        if found is not None:
            found.beside += 1

    def header(self, endpoint: str, routers: int) -> tuple[bytes, bytes]:
        """For every answer of the endpoint, in thousandths; HAProxy takes it off (`serve_app.proxy.config_text`).

        HAProxy draws before it chooses among ``routers``. Where there are several, nothing is shed: one with few
        workers would have it refuse what others could take.
        """
        found = self._endpoints.get(endpoint)
        passed_share = found.passed_share if found is not None and routers == 1 else 1.0
        return HEADER, b"%d" % round(1000 * (1.0 - passed_share))

"""How loaded a router is, for the proxy, which sends it fewer requests where that is too much.

Three things are too much: requests that wait for the router's event loop before they are looked at; answers that are
mostly refusals; and, while the proxy refuses requests, answers that take long beside what workers do. A refusal is
quick, so that a proxy that fills every place at once would have the router do nothing else, and the loop would be late
for those that were let in. And a router that is short of its core answers no more queries when it has more of them at a
time, but all of them later.
"""

from collections.abc import Callable
from math import inf

from dispatch.plan import Plan

HEADER, REFUSING_HEADER = b"x-accord-wait", b"x-accord-refusing"
SHARE = 0.2
"""Of the shortest latency objective: so much may pass between the proxy and the router's first look at a request."""

REFUSED_SHARE = 0.2
"""Of a router's answers may be refusals for want of capacity: some, or nobody would know that there is no more."""

BESIDE_SHARE = 0.6
"""Of its objective may a query take, beside two runs as long as its own, while the proxy refuses others. Two runs,
since a query may have to wait for the one before: how long runs are is the dispatcher's decision. On one slow core a
call to a worker by Serve's handle took a third of 100 ms, however few rows it had: with half of the objective windows
were so small that 300 queries a second were in time where up to 570 are."""

RUNS = 2.0
IN_FRONT_S = 1.0
"""The proxy counts as refusing for so long after what it told."""

WEIGHT, ANSWER_WEIGHT = 1 / 64, 1 / 256


class FrontWait:
    """Moving averages of the ages at which requests come, as percent of what they may be (``slo_s`` x `SHARE`), of
    refusals among answers, as percent of `REFUSED_SHARE`, and of what answers take beside runs, as percent of
    `BESIDE_SHARE`. ``slo_s`` is the shortest objective, until a plan says otherwise; ``clock`` in seconds."""

    def __init__(self, slo_s: float, clock: Callable[[], float]) -> None:
        self._to_pct = 100 / (slo_s * SHARE)
        self._clock = clock
        self._age_s = 0.0
        self._refused = 0.0
        self._beside = 0.0
        self._refusing_until_s = -inf

    def saw(self, age_s: float) -> None:
        """A request came that the proxy had so long ago."""
        self._age_s += (age_s - self._age_s) * WEIGHT

    def on_plan(self, plan: Plan) -> None:
        """The plan in force from now on: ages are held against its shortest objective."""
        self._to_pct = 100 / (min((each.slo_s for each in plan.endpoints.values()), default=inf) * SHARE)

    def answered(self, *, refused: bool) -> None:
        """An answer goes out; ``refused`` where there was no capacity for the query."""
        self._refused += (refused - self._refused) * ANSWER_WEIGHT

    def took(self, latency_s: float, run_s: float, slo_s: float) -> None:
        """A query with an objective of ``slo_s`` was served by a run of ``run_s``."""
        self._beside += (max(0.0, latency_s - RUNS * run_s) / slo_s - self._beside) * WEIGHT

    def refused_in_front(self) -> None:
        """The proxy told of requests that it refused."""
        self._refusing_until_s = self._clock() + IN_FRONT_S

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        """For every answer, how long requests and answers wait, and how many are refused, each as percent of what may
        be; HAProxy takes them off (`serve_app.proxy.config_text`)."""
        pct = self._age_s * self._to_pct
        if self._clock() < self._refusing_until_s:
            pct = max(pct, self._beside * 100 / BESIDE_SHARE)
        return (HEADER, b"%d" % pct), (REFUSING_HEADER, b"%d" % (self._refused * 100 / REFUSED_SHARE))

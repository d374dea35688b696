"""How loaded a router is, for the proxy, which sends it fewer requests where that is too much.

Two things are too much: requests that wait for the router's event loop before they are looked at; and answers that are
mostly refusals. A refusal is quick, so that a proxy that fills every place at once would have the router do nothing
else, and the loop would be late for those that were let in.
"""

HEADER = b"x-accord-wait"
SHARE = 0.2
"""Of the shortest latency objective: so much may pass between the proxy and the router's first look at a request."""

REFUSED_SHARE = 0.2
"""Of a router's answers may be refusals for want of capacity: some, or nobody would know that there is no more."""

WEIGHT, ANSWER_WEIGHT = 1 / 64, 1 / 256


class FrontWait:
    """Moving averages of the ages at which requests come, as percent of what they may be (``slo_s`` x `SHARE`), and of
    refusals among answers, as percent of `REFUSED_SHARE`."""

    def __init__(self, slo_s: float) -> None:
        self._to_pct = 100 / (slo_s * SHARE)
        self._pct = 0.0
        self._refused = 0.0

    def saw(self, age_s: float) -> None:
        """A request came that the proxy had so long ago."""
        self._pct += (age_s * self._to_pct - self._pct) * WEIGHT

    def answered(self, *, refused: bool) -> None:
        """An answer goes out; ``refused`` where there was no capacity for the query."""
        self._refused += (refused - self._refused) * ANSWER_WEIGHT

    @property
    def header(self) -> tuple[bytes, bytes]:
        """For every answer; HAProxy takes it off (`serve_app.proxy.config_text`)."""
        return HEADER, b"%d" % max(self._pct, self._refused * 100 / REFUSED_SHARE)

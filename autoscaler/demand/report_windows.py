"""What several routers saw, as one."""

from collections import Counter
from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import TypeVar

from autoscaler.cluster.observation import Statistics, by_endpoint
from dispatch.query import StageKey

K = TypeVar("K", bound=Hashable)

NO_ROWS: Mapping[StageKey, int] = MappingProxyType({})
NONE: Mapping[str, int] = MappingProxyType({})


class ReportWindows:
    """Sums the reports of several routers up, window by window, in order.

    Window number n is from ``n * window_s`` to ``(n + 1) * window_s`` on the clock that all routers share. It is given
    out when every router known by then has reported it, or ``grace_s`` after its end. What is reported later still
    counts in the next window that is given out: nothing is lost, and nothing comes out of order.
    """

    def __init__(self, window_s: float, grace_s: float) -> None:
        self._window_s = window_s
        self._grace_s = grace_s
        self._known_from: dict[str, int] = {}
        self._next = 0
        self._reported: dict[int, set[str]] = {}
        self._arrived: dict[int, Counter[str]] = {}
        self._violated: dict[int, Counter[str]] = {}
        self._stage_rows: dict[int, Counter[StageKey]] = {}
        self._refused: dict[int, Counter[str]] = {}
        self._expired: dict[int, Counter[str]] = {}

    def on_report(
        self,
        router: str,
        window: int,
        arrived: Mapping[str, int],
        violated: Mapping[str, int],
        stage_rows: Mapping[StageKey, int] = NO_ROWS,
        refused: Mapping[str, int] = NONE,
        expired: Mapping[str, int] = NONE,
    ) -> None:
        """A router says what happened in a window, by endpoint; its first report makes it known from that window on."""
        if not self._known_from:
            self._next = max(self._next, window)
        self._known_from.setdefault(router, window)
        self._reported.setdefault(window, set()).add(router)
        self._arrived.setdefault(window, Counter()).update(arrived)
        self._violated.setdefault(window, Counter()).update(violated)
        self._stage_rows.setdefault(window, Counter()).update(stage_rows)
        self._refused.setdefault(window, Counter()).update(refused)
        self._expired.setdefault(window, Counter()).update(expired)

    def on_router_gone(self, router: str) -> None:
        """It is waited for no more; what it reported counts. Where it reports after all, it is known again."""
        self._known_from.pop(router, None)

    def closed(self, now_s: float) -> list[Statistics]:
        """The windows to be given out now, ascending and without gaps, each once; none while no router is known.

        A window that no router reported is empty. After a time without routers the windows go on with the first
        that one reports again.
        """
        found = []
        while self._known_from and self._is_over(now_s):
            window = self._next
            self._reported = {later: routers for later, routers in self._reported.items() if later > window}
            arrived, violated = _taken(self._arrived, window), _taken(self._violated, window)
            rows = by_endpoint(_taken(self._stage_rows, window))
            refused, expired = _taken(self._refused, window), _taken(self._expired, window)
            start_s, end_s = window * self._window_s, (window + 1) * self._window_s
            found.append(Statistics(start_s, end_s, arrived, violated, rows, refused, expired))
            self._next += 1
        return found

    def _is_over(self, now_s: float) -> bool:
        """Whether the next window is waited for no more."""
        if (self._next + 1) * self._window_s < now_s - self._grace_s:
            return True
        reported = self._reported.get(self._next, ())
        return all(router in reported for router, window in self._known_from.items() if window <= self._next)


def _taken(counts: dict[int, Counter[K]], window: int) -> dict[K, int]:
    """The sum of all counts up to ``window``, which are there no longer."""
    total: Counter[K] = Counter()
    for each in sorted(each for each in counts if each <= window):
        total.update(counts.pop(each))
    return dict(total)

"""Which part of an endpoint's queries runs each of its stages, of those that are let in."""

from collections import Counter, deque
from collections.abc import Mapping

from autoscaler.cluster.observation import Statistics

Shares = Mapping[str, Mapping[str, float]]
"""By endpoint and stage, 0 to 1 for a member of an ensemble; more where a stage is several jobs of a query."""

EXPIRED = 0.05
"""Of the queries let in, from which on an interval tells less than there is: what expires has run some stages, or
none."""


class _Window:
    """Intervals of one endpoint, with their sums: the queries that were let in, and the rows that ran by stage."""

    def __init__(self) -> None:
        self.let_in = 0
        self.rows: Counter[str] = Counter()
        self._intervals: deque[tuple[float, int, Mapping[str, int]]] = deque()

    def add(self, end_s: float, let_in: int, rows: Mapping[str, int]) -> None:
        """Another one is over."""
        self._intervals.append((end_s, let_in, rows))
        self.let_in += let_in
        self.rows.update(rows)

    def forget(self, until_s: float) -> None:
        """Those that were over by then count no more."""
        while self._intervals and self._intervals[0][0] <= until_s:
            _, let_in, rows = self._intervals.popleft()
            self.let_in -= let_in
            self.rows.subtract(rows)


NOTHING = _Window()


class Popularity:
    """Counts over the last ``window_s`` (Cocktail, sections 4.2.2 and 5.1: importance sampling, 5 minutes).

    A member that has no worker is not asked, and would soon be reckoned with no more: so ``expected`` shares count like
    ``expected_queries`` that are always in the window. Endpoints of which neither is known have no shares.

    While queries of an endpoint expire, what was counted before stays, and what is counted meanwhile matters where it
    is more: plans for what is left of a load would be for too little, and more would expire.
    """

    def __init__(
        self, window_s: float = 300.0, expected: Shares | None = None, expected_queries: float = 100.0
    ) -> None:
        self._window_s = window_s
        self._expected = expected or {}
        self._expected_queries = expected_queries
        self._usual: dict[str, _Window] = {}
        self._expiring: dict[str, _Window] = {}
        self._before: dict[str, int] = {}

    def on_statistics(self, statistics: Statistics) -> None:
        """Another interval is over; of endpoints that ran nothing in it and in the next one it says nothing.

        Queries that were refused count as load, and run no stage; those of the interval before may run in this one.
        """
        let_in = {name: queries - statistics.refused.get(name, 0) for name, queries in statistics.arrived.items()}
        ran = statistics.stage_rows
        expire = {name for name, count in statistics.expired.items() if count > EXPIRED * let_in.get(name, 0)}
        for name, rows in ran.items():
            of = self._expiring if name in expire else self._usual
            let_in_since = self._before.get(name, 0) + let_in.get(name, 0)
            of.setdefault(name, _Window()).add(statistics.end_s, let_in_since, rows)
        self._before = {name: queries for name, queries in let_in.items() if name not in ran}
        until_s = statistics.end_s - self._window_s + 1e-9
        for window in (*(own for name, own in self._usual.items() if name not in expire), *self._expiring.values()):
            window.forget(until_s)

    def shares(self) -> dict[str, dict[str, float]]:
        """By endpoint and stage."""
        found = {}
        for name in self._expected.keys() | self._usual.keys() | self._expiring.keys():
            expected = self._expected.get(name, {})
            assumed = self._expected_queries if expected else 0.0
            usual = _shares(self._usual.get(name, NOTHING), expected, assumed)
            meanwhile = _shares(self._expiring.get(name, NOTHING), {}, 0.0)
            if usual or meanwhile:
                stages = sorted(usual.keys() | meanwhile.keys())
                found[name] = {stage: max(usual.get(stage, 0.0), meanwhile.get(stage, 0.0)) for stage in stages}
        return found


def _shares(window: _Window, expected: Mapping[str, float], assumed: float) -> dict[str, float]:
    """Of the queries in it and of so many ``assumed`` ones by stage; empty where there are none."""
    queries = window.let_in + assumed
    if queries <= 0:
        return {}
    stages = expected.keys() | window.rows.keys()
    return {stage: (window.rows[stage] + expected.get(stage, 0.0) * assumed) / queries for stage in stages}

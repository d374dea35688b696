"""Which part of an endpoint's queries runs each of its stages, of those that are let in."""

from collections import Counter, deque
from collections.abc import Mapping

from autoscaler.cluster.observation import Statistics

Shares = Mapping[str, Mapping[str, float]]
"""By endpoint and stage, 0 to 1 for a member of an ensemble; more where a stage is several jobs of a query."""

Counts = tuple[float, int, Mapping[str, int]]
"""Of an interval its end in seconds, the queries that were let in, and the rows that ran by stage."""

EXPIRED = 0.05
"""Of the queries let in, from which on an interval says nothing: what expires has run some stages, or none."""


class Popularity:
    """Counts over the last ``window_s`` (Cocktail, sections 4.2.2 and 5.1: importance sampling, 5 minutes).

    A member that has no worker is not asked, and would soon be reckoned with no more: so ``expected`` shares count like
    ``expected_queries`` that are always in the window. Endpoints of which neither is known have no shares. While
    queries of an endpoint expire, what was counted before stays: plans for what is left of the load would be for too
    little, and more would expire.
    """

    def __init__(
        self, window_s: float = 300.0, expected: Shares | None = None, expected_queries: float = 100.0
    ) -> None:
        self._window_s = window_s
        self._expected = expected or {}
        self._expected_queries = expected_queries
        self._recent: dict[str, deque[Counts]] = {}
        self._let_in: Counter[str] = Counter()
        self._rows: dict[str, Counter[str]] = {}
        self._before: dict[str, int] = {}

    def on_statistics(self, statistics: Statistics) -> None:
        """Another interval is over; of endpoints that ran nothing in it and in the next one it says nothing.

        Queries that were refused count as load, and run no stage; those of the interval before may run in this one.
        """
        let_in = {name: queries - statistics.refused.get(name, 0) for name, queries in statistics.arrived.items()}
        ran = statistics.stage_rows
        expire = {name for name, count in statistics.expired.items() if count > EXPIRED * let_in.get(name, 0)}
        for name, rows in ran.items():
            if name not in expire:
                counts = (statistics.end_s, self._before.get(name, 0) + let_in.get(name, 0), rows)
                self._recent.setdefault(name, deque()).append(counts)
                self._count(name, counts, 1)
        self._before = {name: queries for name, queries in let_in.items() if name not in ran and name not in expire}
        for name, recent in self._recent.items():
            while name not in expire and recent and recent[0][0] <= statistics.end_s - self._window_s + 1e-9:
                self._count(name, recent.popleft(), -1)

    def shares(self) -> dict[str, dict[str, float]]:
        """By endpoint and stage."""
        found = {}
        for name in self._expected.keys() | self._rows.keys():
            expected = self._expected.get(name, {})
            assumed = self._expected_queries if expected else 0.0
            queries, rows = self._let_in[name] + assumed, self._rows.get(name, Counter())
            if queries > 0:
                stages = sorted(expected.keys() | rows.keys())
                found[name] = {stage: (rows[stage] + expected.get(stage, 0.0) * assumed) / queries for stage in stages}
        return found

    def _count(self, name: str, counts: Counts, sign: int) -> None:
        _, let_in, rows = counts
        self._let_in[name] += sign * let_in
        own = self._rows.setdefault(name, Counter())
        for stage, count in rows.items():
            own[stage] += sign * count

"""Which part of an endpoint's queries runs each of its stages, of those that are let in."""

from collections import Counter, deque
from collections.abc import Mapping

from autoscaler.cluster.observation import Statistics

Shares = Mapping[str, Mapping[str, float]]
"""By endpoint and stage, 0 to 1 for a member of an ensemble; more where a stage is several jobs of a query."""

Counts = Mapping[str, tuple[int, Mapping[str, int]]]
"""By endpoint the queries that were let in, and the rows that ran by stage."""


class Popularity:
    """Counts over the last ``window_s`` (Cocktail, sections 4.2.2 and 5.1: importance sampling, 5 minutes).

    A member that has no worker is not asked, and would soon be reckoned with no more: so ``expected`` shares count like
    ``expected_queries`` that are always in the window. Endpoints of which neither is known have no shares.
    """

    def __init__(
        self, window_s: float = 300.0, expected: Shares | None = None, expected_queries: float = 100.0
    ) -> None:
        self._window_s = window_s
        self._expected = expected or {}
        self._expected_queries = expected_queries
        self._recent: deque[tuple[float, Counts]] = deque()
        self._let_in: Counter[str] = Counter()
        self._rows: dict[str, Counter[str]] = {}
        self._before: dict[str, int] = {}

    def on_statistics(self, statistics: Statistics) -> None:
        """Another interval is over; of endpoints that ran nothing in it and in the next one it says nothing.

        Queries that were refused count as load, and run no stage; those of the interval before may run in this one.
        """
        let_in = {name: queries - statistics.refused.get(name, 0) for name, queries in statistics.arrived.items()}
        ran = statistics.stage_rows
        if ran:
            counts = {name: (self._before.get(name, 0) + let_in.get(name, 0), rows) for name, rows in ran.items()}
            self._recent.append((statistics.end_s, counts))
            self._count(counts, 1)
        self._before = {name: queries for name, queries in let_in.items() if name not in ran}
        while self._recent and self._recent[0][0] <= statistics.end_s - self._window_s + 1e-9:
            self._count(self._recent.popleft()[1], -1)

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

    def _count(self, counts: Counts, sign: int) -> None:
        for name, (let_in, rows) in counts.items():
            self._let_in[name] += sign * let_in
            own = self._rows.setdefault(name, Counter())
            for stage, count in rows.items():
                own[stage] += sign * count

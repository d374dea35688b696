"""Which part of an endpoint's queries runs each of its stages."""

from collections import Counter, deque
from collections.abc import Mapping

from autoscaler.cluster.observation import Statistics

Shares = Mapping[str, Mapping[str, float]]
"""By endpoint and stage, 0 to 1 for a member of an ensemble; more where a stage is several jobs of a query."""


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
        self._recent: deque[Statistics] = deque()
        self._arrived: Counter[str] = Counter()
        self._rows: dict[str, Counter[str]] = {}

    def on_statistics(self, statistics: Statistics) -> None:
        """Another interval is over; those without counts of stages say nothing."""
        if statistics.stage_rows:
            self._recent.append(statistics)
            self._count(statistics, 1)
        while self._recent and self._recent[0].end_s <= statistics.end_s - self._window_s + 1e-9:
            self._count(self._recent.popleft(), -1)

    def shares(self) -> dict[str, dict[str, float]]:
        """By endpoint and stage."""
        found = {}
        for name in self._expected.keys() | self._rows.keys():
            expected = self._expected.get(name, {})
            assumed = self._expected_queries if expected else 0.0
            queries, rows = self._arrived[name] + assumed, self._rows.get(name, Counter())
            if queries > 0:
                stages = sorted(expected.keys() | rows.keys())
                found[name] = {stage: (rows[stage] + expected.get(stage, 0.0) * assumed) / queries for stage in stages}
        return found

    def _count(self, statistics: Statistics, sign: int) -> None:
        for name, rows in statistics.stage_rows.items():
            self._arrived[name] += sign * statistics.arrived.get(name, 0)
            own = self._rows.setdefault(name, Counter())
            for stage, count in rows.items():
                own[stage] += sign * count

"""How many rows a query has."""

BLOCK = 32
"""Queries that are looked at together."""

KEPT = 0.75
"""How much of what is known a further block leaves."""

MOST, STILL = 0.6, 0.4
"""The share of the queries from which on a number is the usual one, and with which it still is."""

NEAR = 1.5
"""Where none is, a mean within this factor of the usual number changes nothing."""


class QueryRows:
    """How many rows the queries of an endpoint usually have, by those that came last.

    ``usual`` is the number that most of them have, or about their mean where there is none; None before enough came.
    It changes seldom, since decision tables are made for it.
    """

    def __init__(self) -> None:
        self.usual: int | None = None
        self._block: list[int] = []
        self._known: dict[int, float] = {}  # rows to about how many of the last queries had them

    def on_query(self, rows: int) -> None:
        """A query of so many rows came."""
        self._block.append(rows)
        if len(self._block) == BLOCK:
            self._learn()
            self._block.clear()

    def _learn(self) -> None:
        known = {rows: KEPT * queries for rows, queries in self._known.items() if KEPT * queries >= 1.0}
        for rows in self._block:
            known[rows] = known.get(rows, 0.0) + 1.0
        self._known = known
        total, usual = sum(known.values()), self.usual
        most = max(known, key=known.__getitem__)
        if known[most] >= MOST * total:
            self.usual = most
        elif usual is None or known.get(usual, 0.0) < STILL * total:
            mean = sum(rows * queries for rows, queries in known.items()) / total
            if usual is None or not usual / NEAR <= mean <= usual * NEAR:
                self.usual = max(round(mean), 1)

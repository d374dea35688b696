"""How many rows a query has."""

ALIKE, MIXED = 32, 512
"""So many queries in a row with as many rows say enough, and after they have differed so many, alike or not."""

NEAR = 1.5
"""Where they differ, a mean within this factor of the usual number changes nothing."""


class QueryRows:
    """The number of rows that the queries of an endpoint ``usual``ly have, by those that came last.

    It is theirs where they are alike, and about their mean where not. It changes seldom, since decision tables are
    made for it.
    """

    def __init__(self) -> None:
        self.usual = 1
        self._last = 0
        self._alike = 0  # that came last
        self._enough = ALIKE
        self._queries = self._rows = 0

    def on_query(self, rows: int) -> None:
        """A query of so many rows came."""
        if rows == self._last:
            self._alike += 1
        else:
            self._last, self._alike = rows, 1
        self._queries += 1
        self._rows += rows
        if self._alike == self._enough:
            self.usual, self._enough = rows, ALIKE
        elif self._queries < MIXED:
            return
        elif self._alike < MIXED:
            mean = self._rows / self._queries
            if not self.usual / NEAR <= mean <= self.usual * NEAR:
                self.usual = max(round(mean), 1)
            self._enough = MIXED
        self._queries = self._rows = 0

"""Rows of plain values, of which the latest are kept."""

from collections import deque
from typing import Any


class Columns:
    """The latest ``most`` rows, column by column; the first column ascends.

    Python's garbage collector has nothing to look at in numbers and strings. Of thousands of rows that are objects each
    look would stop the router's event loop for tens of milliseconds.
    """

    def __init__(self, columns: int, most: int) -> None:
        self._columns: tuple[deque[Any], ...] = tuple(deque(maxlen=most) for _ in range(columns))

    def append(self, *row: Any) -> None:
        """A row; the oldest goes where there are too many."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def since(self, least: float) -> tuple[list[Any], ...]:
        """The columns of the rows whose first value is that or above; the others are forgotten."""
        first = self._columns[0]
        while first and first[0] < least:
            for column in self._columns:
                column.popleft()
        return tuple(map(list, self._columns))

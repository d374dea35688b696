"""How far the decision tables of an endpoint are."""

from enum import StrEnum
from typing import NamedTuple


class TableState(StrEnum):
    """What decides at the present load and latency: no table, tables for another one in rescaled time, or exact
    ones."""

    NONE = "none"
    APPROXIMATE = "approximate"
    EXACT = "exact"


class TableProgress(NamedTuple):
    """``made`` of the ``wanted`` tables are there, for the present latency and those near it; ``wanted`` is at most.

    They are for queries of ``query_rows`` rows.
    """

    state: TableState
    made: int
    wanted: int
    query_rows: int = 1

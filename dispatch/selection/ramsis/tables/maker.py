"""Makes tables and grids of them, and keeps what was made."""

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis import solver
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid
from dispatch.selection.ramsis.tables.ladder import LadderMaker
from dispatch.selection.ramsis.tables.table import FORMAT, DecisionTable

AT_ONCE = 8
"""Tables that are under way at a time, as far as the executor lets them."""

OnTable = Callable[[int, int], None]
"""Called with the tables that are made, and how many there will be at most."""


class TableStore(Protocol):
    """Keeps tables as arrays between starts. What was put may be gone later, never changed."""

    def get(self, key: str) -> Mapping[str, NDArray[np.generic]] | None:
        """The arrays under a key, None where there are none that can be read."""
        ...

    def put(self, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Keep arrays under a key; where that fails nothing is kept, and nobody is told."""
        ...


def table_key(problem: WorkerProblem) -> str:
    """Name of a problem's table: a hash of everything that the table depends on."""
    return hashlib.sha256(f"{FORMAT} {solver.VERSION} {problem!r}".encode()).hexdigest()


def make_table(
    problem: WorkerProblem, executor: Executor | None = None, store: TableStore | None = None
) -> DecisionTable:
    """The table of one problem, made and kept as `make_grid` does."""
    return _begin(problem, executor, store)()


def make_grid(
    problem: WorkerProblem,
    executor: Executor | None = None,
    store: TableStore | None = None,
    on_table: OnTable | None = None,
    highest_qps: float | None = None,
    first_qps: float | None = None,
) -> TableGrid:
    """The grid of a problem, whose own load does not matter, for the loads of a `LadderMaker`.

    Tables are made in ``executor``, by this thread where it is None, and kept in ``store``; neither changes a single
    bit of them.
    """
    ladder = LadderMaker(problem, highest_qps, first_qps)
    under_way: deque[Callable[[], DecisionTable]] = deque()
    while ladder.remaining:
        loads_qps = ladder.next_loads(AT_ONCE - len(under_way))
        under_way.extend(_begin(problem.at_load(load_qps), executor, store) for load_qps in loads_qps)
        ladder.add(under_way.popleft()())
        if on_table is not None:
            on_table(ladder.made, ladder.made + ladder.remaining)
    grid = ladder.grid()
    assert grid is not None
    return grid


def _begin(problem: WorkerProblem, executor: Executor | None, store: TableStore | None) -> Callable[[], DecisionTable]:
    """Begins to make a table, or finds it; what is returned waits for it, and keeps it."""
    found = None if store is None else _kept(problem, store)
    if found is not None:
        return lambda: found
    solved = None if executor is None else executor.submit(solver.solve, problem)

    def finish() -> DecisionTable:
        table = solver.solve(problem) if solved is None else solved.result()
        if store is not None:
            store.put(table_key(problem), table.arrays())
        return table

    return finish


def _kept(problem: WorkerProblem, store: TableStore) -> DecisionTable | None:
    arrays = store.get(table_key(problem))
    if arrays is None:
        return None
    try:
        return DecisionTable.from_arrays(arrays)
    except (ValueError, KeyError, TypeError):
        return None

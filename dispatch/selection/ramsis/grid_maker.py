"""Makes grids of tables, dense enough that the step from one to the next costs next to no accuracy."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis import solver
from dispatch.selection.ramsis.grid import TableGrid, beyond_table, fluid_capacity_qps
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.table import FORMAT, DecisionTable

MAX_STEP = 0.01
"""Neighbours differ by less than this in expected accuracy (RAMSIS, section 6)."""

NEAREST_RATIO = 1.02
"""Loads nearer to each other than this are not told apart, whatever their tables' accuracy: no estimate is so good."""

OVERLOADED = 0.05
"""Above this expected violation rate tables promise nothing worth telling apart."""

MAX_TABLES = 64

LIGHT_STEP = 0.003
"""A load is light where lower ones raise the expected accuracy by less than this."""

IDLE_QUERIES = 0.1
"""A load is light where, besides, a worker gets fewer queries than this within the objective: none to wait for."""

LADDER = 2.0
"""Neighbours differ by no more than this factor in load: a table waits for queries that a lower load does not bring."""

MOST_RUNGS = 24
RUNGS_AT_ONCE = 4

OnTable = Callable[[int, int], None]
"""Called with the tables that are made, and how many are wanted as far as is known by then."""


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
    return _Maker(problem, executor, store, None).at([problem.load_qps])[0]


def make_grid(
    problem: WorkerProblem,
    executor: Executor | None = None,
    store: TableStore | None = None,
    on_table: OnTable | None = None,
) -> TableGrid:
    """The grid of a problem, whose own load does not matter.

    It begins at a load that is light, so that no lower one is worth a table, and ends where the workers can no longer
    keep up. Neighbours differ by no more than `LADDER` in load and by less than `MAX_STEP` in expected accuracy, save
    where they are nearer than `NEAREST_RATIO` or there would be more than `MAX_TABLES`. Tables are made in
    ``executor``, by this thread where it is None, and kept in ``store``; neither changes a single bit of them.
    """
    maker = _Maker(problem, executor, store, on_table)
    tables = _coarse(maker, fluid_capacity_qps(problem))
    while loads_qps := _between(tables):
        tables = sorted((*tables, *maker.at(loads_qps)), key=lambda table: table.load_qps)
    return TableGrid(tuple(tables), beyond_table(problem, tables[-1].group))


def _coarse(maker: "_Maker", highest_qps: float) -> list[DecisionTable]:
    """Tables for loads halved again and again, from the highest down to the first that is light."""
    problem = maker.problem
    accurate = max(problem.accuracies) - LIGHT_STEP
    idle_qps = IDLE_QUERIES / problem.slo_s * problem.workers
    tables: list[DecisionTable] = []
    for first in range(0, MOST_RUNGS, RUNGS_AT_ONCE):
        rungs = range(first, first + RUNGS_AT_ONCE)
        for table in maker.at([highest_qps / LADDER**rung for rung in rungs]):
            tables.insert(0, table)
            if table.load_qps < idle_qps and table.expected_accuracy > accurate:
                return tables
    return tables


def _between(tables: list[DecisionTable]) -> list[float]:
    """Loads to try next: half-way, by ratio, between neighbours that differ too much; the worst where not all fit."""
    gaps = []
    for low, high in pairwise(tables):
        step = abs(high.expected_accuracy - low.expected_accuracy)
        overloaded = low.expected_violation_rate > OVERLOADED
        if step >= MAX_STEP and high.load_qps > low.load_qps * NEAREST_RATIO and not overloaded:
            gaps.append((step, sqrt(low.load_qps * high.load_qps)))
    gaps.sort(reverse=True)
    return [load_qps for _, load_qps in gaps[: MAX_TABLES - len(tables)]]


@dataclass
class _Maker:
    """Solves one problem at several loads at a time."""

    problem: WorkerProblem
    executor: Executor | None
    store: TableStore | None
    on_table: OnTable | None
    _wanted: int = field(default=0, init=False)
    _done: int = field(default=0, init=False)

    def at(self, loads_qps: list[float]) -> list[DecisionTable]:
        """Tables in the order of the loads."""
        self._wanted += len(loads_qps)
        problems = [self.problem.at_load(load_qps) for load_qps in loads_qps]
        kept = [self._kept(problem) for problem in problems]
        missing = [problem for problem, table in zip(problems, kept, strict=True) if table is None]
        run: Callable[..., Iterable[DecisionTable]] = map if self.executor is None else self.executor.map
        solved = iter(run(solver.solve, missing))
        tables = []
        for problem, found in zip(problems, kept, strict=True):
            table = found
            if table is None:
                table = next(solved)
                if self.store is not None:
                    self.store.put(table_key(problem), table.arrays())
            tables.append(table)
            self._done += 1
            if self.on_table is not None:
                self.on_table(self._done, self._wanted)
        return tables

    def _kept(self, problem: WorkerProblem) -> DecisionTable | None:
        arrays = None if self.store is None else self.store.get(table_key(problem))
        if arrays is None:
            return None
        try:
            return DecisionTable.from_arrays(arrays)
        except (ValueError, KeyError, TypeError):
            return None

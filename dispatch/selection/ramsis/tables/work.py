"""Which decision tables an endpoint needs on one device type, in the order in which they are worth making."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import LATE_SHARE
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import Balancing, Formulation, WorkerProblem, formulation_for
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.leveled_grids import LeveledGrids, factors
from dispatch.selection.ramsis.tables.table import DecisionTable

RUNG = 1.06
"""Loads that tables are made for are this factor apart."""

NEAR = (0.9, 1.3)
"""First come the loads within these multiples of the present one."""

FITS = (0.92, 1.03)
"""Latencies within these multiples of a level's take no level of their own."""

SPARSE = 5
"""Ahead of time, every so-manyth load is enough: tables are read for the next higher load there is."""

IDLE_QUERIES = 0.1
"""The lightest load brings a worker so many queries within the objective: none to wait for."""

AHEAD = ((1.0, 1.0), (1.4, 2.5), (1.2, 1.6), (2.0, 4.0), (2.0, 2.0), (2.0, 1.0), (3.0, 3.0))
"""Run and way of the levels that are made ahead of time, as multiples of the present ones: under load the way gets
longer than runs do, a worker that slows down slows its runs."""

MOST_LEVELS = 48
"""Those aimed at longest ago are forgotten."""


@dataclass(frozen=True)
class TableTask:
    """What the tables of one endpoint are for on one device type; ``offered`` are the plan's candidates.

    ``formulation`` None is the one that goes with the balancing (`formulation_for`). A table's queries have
    ``query_rows`` rows each: that is what arrives together, and what is waited for.
    """

    offered: tuple[Candidate, ...]
    slo_s: float
    workers: int
    balancing: Balancing
    highest_qps: float  # where router and path end, whatever workers could bear
    formulation: Formulation | None = None
    query_rows: int = 1

    @cached_property
    def of_queries(self) -> tuple[Candidate, ...]:
        """What is offered by queries instead of rows: what takes one at once, where anything does."""
        whole = tuple(each for each in self.offered if each.max_batch >= self.query_rows)
        return tuple(each.of_queries(self.query_rows) for each in whole or self.offered)

    def problem(self, level: LatencyLevel) -> WorkerProblem:
        """The decision process at one level of latency, under a load that is for the ladder to set."""
        return WorkerProblem.of(
            tuple(map(level.estimate.corrected, self.of_queries)),
            self.slo_s,
            self.workers,
            Poisson(1.0),
            formulation=formulation_for(self.balancing, self.formulation),
            balancing=self.balancing,
            late_share=LATE_SHARE,
        )


class _Ladder:
    """The tables of one level: ``loads_qps`` descend from the highest that is worth a table."""

    def __init__(self, task: TableTask, level: LatencyLevel) -> None:
        self._task = task
        self._level = level
        idle_qps = IDLE_QUERIES / task.slo_s * task.workers
        self.loads_qps = [max(min(_most_qps(task, level), task.highest_qps), idle_qps)]
        while self.loads_qps[-1] > idle_qps:
            self.loads_qps.append(self.loads_qps[-1] / RUNG)
        self.tables: dict[float, DecisionTable] = {}
        self._grid: TableGrid | None = None

    @cached_property
    def problem(self) -> WorkerProblem:
        """Made when the first table is: a router keeps many ladders, and makes few of them at a time."""
        return self._task.problem(self._level)

    @cached_property
    def _beyond(self) -> DecisionTable:
        return beyond_table(self.problem, group=1)

    def add(self, table: DecisionTable) -> None:
        self.tables[table.load_qps] = table
        self._grid = None

    def grid(self) -> TableGrid:
        if self._grid is None:
            tables = sorted(self.tables.values(), key=lambda table: table.load_qps)
            self._grid = TableGrid(tuple(tables), self._beyond)
        return self._grid

    def near(self, load_qps: float) -> list[float]:
        """Loads about the present one, from it upwards first; beyond either end of the ladder, that end."""
        low_qps, high_qps = (load_qps * factor for factor in NEAR)
        near = sorted(self.within(low_qps, high_qps), key=lambda rung_qps: (rung_qps < load_qps, rung_qps))
        return near or [self.loads_qps[-1] if load_qps < self.loads_qps[-1] else self.loads_qps[0]]

    def within(self, low_qps: float, high_qps: float) -> list[float]:
        return [rung_qps for rung_qps in self.loads_qps if low_qps <= rung_qps <= high_qps]

    def sparse(self) -> list[float]:
        return self.loads_qps[::SPARSE]


class TableWork:
    """Keeps tables by level of latency and load; `aim` says what is needed now, `next` what to make.

    First come the tables for the present latency near the present load. Then, ahead of time and for loads farther
    apart, those for all loads at the present latency and at slower ones (`AHEAD`), so that a change is a look-up.

    ``before`` are the tables in force for queries of another size, which are read where needed ones are missing. A few
    for the loads above the present one are needed then too, at the latency that there is first: others come soon.
    """

    def __init__(self, task: TableTask, before: LeveledGrids | None = None) -> None:
        self.task = task
        self._before = before
        self._first: LatencyLevel | None = None
        self._ladders: dict[LatencyLevel, _Ladder] = {}
        self._wanted: list[tuple[LatencyLevel, float]] = []
        self._near = 0

    def aim(self, latency: LatencyEstimate, load_qps: float) -> None:
        """The workers' latency and the load, in rows per second, are about this now."""
        level = next((each for each in self._ladders if _fits(each, latency)), None) or LatencyLevel.above(latency)
        ahead = [level.inflated(run, path) for run, path in AHEAD]
        for each in reversed((level, *ahead)):
            ladder = self._ladders.pop(each, None) or _Ladder(self.task, each)
            self._ladders = {each: ladder, **self._ladders}
        for forgotten in list(self._ladders)[MOST_LEVELS:]:
            del self._ladders[forgotten]
        load_qps /= self.task.query_rows
        near = [(level, rung_qps) for rung_qps in self._ladders[level].near(load_qps)]
        wanted = list(dict.fromkeys(near[:1] + self._above(level, load_qps) + near[1:]))
        self._near = len(wanted)
        wanted += [(each, rung_qps) for each in ahead for rung_qps in self._ladders[each].sparse()]
        self._wanted = list(dict.fromkeys(wanted))

    def _above(self, level: LatencyLevel, load_qps: float) -> list[tuple[LatencyLevel, float]]:
        if self._before is None:
            return []
        self._first = self._first or level
        first = self._ladders.get(self._first)  # None where it was forgotten
        return [] if first is None else [(self._first, qps) for qps in reversed(first.sparse()) if qps > load_qps]

    def next(self, ahead: bool = True) -> tuple[LatencyLevel, WorkerProblem] | None:
        """The next table to make, and the level that it is for; None where all are made.

        Without ``ahead`` only those that are needed now.
        """
        for level, load_qps in self._wanted if ahead else self._wanted[: self._near]:
            ladder = self._ladders[level]
            if load_qps not in ladder.tables:
                return level, ladder.problem.at_load(load_qps)
        return None

    def add(self, level: LatencyLevel, table: DecisionTable) -> None:
        """A table was made; one of a level that was forgotten meanwhile is dropped."""
        ladder = self._ladders.get(level)
        if ladder is not None:
            ladder.add(table)

    @property
    def grids(self) -> LeveledGrids | None:
        """All tables so far; None before the first."""
        made = {level: ladder.grid() for level, ladder in self._ladders.items() if ladder.tables}
        before = None if self.next(ahead=False) is None else self._before
        return LeveledGrids(made, self.task.query_rows, before) if made else None

    @property
    def made(self) -> int:
        """Tables that are made, of those that are wanted now."""
        return sum(load_qps in self._ladders[level].tables for level, load_qps in self._wanted)

    @property
    def wanted(self) -> int:
        """Tables that are wanted now."""
        return len(self._wanted)


def _fits(level: LatencyLevel, latency: LatencyEstimate) -> bool:
    """Whether tables of a level do for a worker, so that estimates may waver without new tables."""
    return all(FITS[0] <= factor <= FITS[1] for factor in factors(level, latency))


def _most_qps(task: TableTask, level: LatencyLevel) -> float:
    """The load that all workers bear when every batch is the largest in time, on the fastest variant for it."""
    rates_qps = [1.0 / level.estimate.busy_s(min(each.runs_s[1] for each in task.of_queries))]
    for offered in task.of_queries:
        queries = bisect_right(offered.runs_s, (task.slo_s - level.path_s) / level.run_factor) - 1
        if queries > 0:
            rates_qps.append(queries / level.estimate.busy_s(offered.runs_s[queries]))
    return task.workers * max(rates_qps)


def worth_a_table(offered: tuple[Candidate, ...], slo_s: float) -> tuple[Candidate, ...]:
    """Those that decision tables could choose."""
    if not offered:
        return ()
    names = WorkerProblem.of(offered, slo_s, 1, Poisson(1.0)).variants
    return tuple(candidate for candidate in offered if candidate.variant in names)

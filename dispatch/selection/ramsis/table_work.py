"""Which decision tables an endpoint needs on one device type, in the order in which they are worth making."""

from dataclasses import dataclass

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import TAIL
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.grid import fluid_capacity_qps
from dispatch.selection.ramsis.ladder import LadderMaker
from dispatch.selection.ramsis.latency_level import LatencyLevel
from dispatch.selection.ramsis.leveled_grids import LeveledGrids
from dispatch.selection.ramsis.problem import Balancing, WorkerProblem
from dispatch.selection.ramsis.table import DecisionTable

SLOWEST = 3.0
"""Levels are made ahead of time up to this multiple of the present run factor."""

MOST_LEVELS = 24
"""Those aimed at longest ago are forgotten."""


@dataclass(frozen=True)
class TableTask:
    """What the tables of one endpoint are for on one device type; ``offered`` are the plan's candidates."""

    offered: tuple[Candidate, ...]
    slo_s: float
    workers: int
    balancing: Balancing
    highest_qps: float  # where router and path end, whatever workers could bear

    def problem(self, level: LatencyLevel) -> WorkerProblem:
        """The decision process at one level of latency, under a load that is for the ladder to set.

        Queues joined by length have no process per query, and take the paper's formulation.
        """
        return WorkerProblem.of(
            tuple(level.candidate(each) for each in self.offered),
            self.slo_s,
            self.workers,
            Poisson(1.0),
            formulation="per_query" if self.balancing == "round_robin" else "per_decision",
            balancing=self.balancing,
            late_share=1.0 - TAIL,
        )


class TableWork:
    """Keeps ladders of tables by level of latency; `aim` says what is needed now, `next` what to make.

    First comes the level that fits the present estimate, at the present load first; then slower levels up to `SLOWEST`
    times, a longer way, and a faster level, so that a change is a look-up.
    """

    def __init__(self, task: TableTask) -> None:
        self.task = task
        self._ladders: dict[LatencyLevel, LadderMaker] = {}
        self._levels: list[LatencyLevel] = []

    def aim(self, latency: LatencyEstimate, load_qps: float) -> None:
        """The workers' latency and the load are about this now."""
        level = LatencyLevel.above(latency)
        if self._levels and self._levels[0] == level:
            return
        self._levels = _around(level)
        for each in reversed(self._levels):
            ladder = self._ladders.pop(each, None) or self._ladder(each, load_qps)
            self._ladders = {each: ladder, **self._ladders}
        for forgotten in list(self._ladders)[MOST_LEVELS:]:
            del self._ladders[forgotten]

    def next(self) -> tuple[LatencyLevel, WorkerProblem] | None:
        """The next table to make, and the level that it is for; None where all are made."""
        for level in self._levels:
            ladder = self._ladders[level]
            for load_qps in ladder.next_loads(1):
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
        made = {level: grid for level, ladder in self._ladders.items() if (grid := ladder.grid()) is not None}
        return LeveledGrids(made) if made else None

    @property
    def made(self) -> int:
        """Tables that are made for the levels aimed at."""
        return sum(self._ladders[level].made for level in self._levels)

    @property
    def wanted(self) -> int:
        """Tables that there will be of them, at most."""
        return self.made + sum(self._ladders[level].remaining for level in self._levels)

    def _ladder(self, level: LatencyLevel, load_qps: float) -> LadderMaker:
        problem = self.task.problem(level)
        highest_qps = min(fluid_capacity_qps(problem), self.task.highest_qps)
        return LadderMaker(problem, highest_qps, first_qps=load_qps)


def _around(level: LatencyLevel) -> list[LatencyLevel]:
    levels = [level, level.slower(), level.longer(), level.faster(), level.slower().longer()]
    slower = level.slower()
    while slower.run_factor < SLOWEST * level.run_factor:
        slower = slower.slower()
        levels.append(slower)
    return list(dict.fromkeys(levels))


def worth_a_table(offered: tuple[Candidate, ...], slo_s: float) -> tuple[Candidate, ...]:
    """Those that decision tables could choose."""
    if not offered:
        return ()
    names = WorkerProblem.of(offered, slo_s, 1, Poisson(1.0)).variants
    return tuple(candidate for candidate in offered if candidate.variant in names)

"""Which loads a grid has tables for, and in which order they are made."""

from itertools import pairwise
from math import ceil, floor, log2

from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table, fluid_capacity_qps
from dispatch.selection.ramsis.tables.table import DecisionTable

RUNGS_PER_DOUBLING = 16
"""Loads are powers of 2 to the 16th root of 2, whatever the problem: a table that is kept is found again."""

WIDE = RUNGS_PER_DOUBLING
"""Neighbours differ by a factor of two at most: a table waits for queries that a lower load does not bring."""

NEAR, NEAR_STEP = 4, 0.01
"""Neighbours that differ by this or more in expected accuracy (RAMSIS, section 6) are within a factor of 1.19."""

NEAREST, NEAREST_STEP = 1, 0.05
"""Those that differ by this or more, near saturation, within a factor of 1.05."""

OVERLOADED = 0.05
"""Above a table that expects more queries than this not to fit into their slack nothing is told apart more finely."""

IDLE_QUERIES = 0.1
"""A load is light where a worker gets fewer queries than this within the objective: lower ones need no table."""

MOST_WIDE = 20
MAX_TABLES = 32


class LadderMaker:
    """Says which table to make next, from those that are there; it makes none itself.

    The loads reach from one that is light to ``highest_qps``, which is the fluid capacity where None or more than
    that. The table for ``first_qps`` comes first, that for the highest load where None, and others as they are near to
    it: rungs of a factor of two, and where neighbours differ in expected accuracy, loads half-way between, by ratio.
    """

    def __init__(
        self, problem: WorkerProblem, highest_qps: float | None = None, first_qps: float | None = None
    ) -> None:
        self._problem = problem
        self._fluid_qps = fluid_capacity_qps(problem)
        most_qps = self._fluid_qps if highest_qps is None else min(highest_qps, self._fluid_qps)
        if not most_qps > 0.0:
            raise ValueError(f"highest_qps {highest_qps}; give a positive load")
        light_qps = min(IDLE_QUERIES / problem.slo_s * problem.workers, most_qps)
        highest = ceil(log2(most_qps) * RUNGS_PER_DOUBLING)
        lowest = max(floor(log2(light_qps) * RUNGS_PER_DOUBLING / WIDE), highest // WIDE - MOST_WIDE + 1) * WIDE
        first = highest
        if first_qps is not None and first_qps < most_qps:
            near = ceil(log2(max(first_qps, light_qps)) * RUNGS_PER_DOUBLING / NEAR) * NEAR
            first = min(max(near, lowest), highest)
        self._first = first
        self._planned: list[int] = sorted({*range(lowest, highest, WIDE), first, highest})
        self._given: set[int] = set()
        self._made: dict[int, DecisionTable] = {}

    def next_loads(self, count: int) -> list[float]:
        """Up to ``count`` loads whose tables are wanted next, the most useful first; none is ever given twice.

        Empty where there is none to make, or none to be known before tables that were given out are added.
        """
        waiting = sorted(set(self._planned) - self._given, key=lambda rung: (abs(rung - self._first), -rung))
        self._given.update(waiting[:count])
        return [self._load_qps(rung) for rung in waiting[:count]]

    def add(self, table: DecisionTable) -> None:
        """Take a table that was made; raises ValueError where its load was not asked for."""
        rungs = [rung for rung in self._given if self._load_qps(rung) == table.load_qps]
        if not rungs or rungs[0] in self._made:
            raise ValueError(f"a table for {table.load_qps} queries/s was not asked for; add each of next_loads once")
        self._made[rungs[0]] = table
        for low, high in pairwise(list(self._planned)):
            if len(self._planned) < MAX_TABLES and self._is_wide(low, high):
                self._planned = sorted({*self._planned, (low + high) // 2})

    @property
    def made(self) -> int:
        """How many tables are there."""
        return len(self._made)

    @property
    def remaining(self) -> int:
        """How many tables may still be to come: at least as many as there will be; 0 where the ladder is whole.

        Together with those made it never rises.
        """
        missing = len(self._planned) - len(self._made)
        between = sum(high - low - 1 for low, high in pairwise(self._planned) if self._may_be_wide(low, high))
        return min(missing + between, MAX_TABLES - len(self._made))

    def grid(self) -> TableGrid | None:
        """The tables that are there; None where there is none."""
        if not self._made:
            return None
        tables = tuple(self._made[rung] for rung in sorted(self._made))
        return TableGrid(tables, beyond_table(self._problem, tables[-1].group))

    def _load_qps(self, rung: int) -> float:
        doubled: float = 2.0 ** (rung / RUNGS_PER_DOUBLING)
        return min(doubled, self._fluid_qps)

    def _is_wide(self, low: int, high: int) -> bool:
        """Whether a table is wanted between two neighbours that are there."""
        lower, higher = self._made.get(low), self._made.get(high)
        if lower is None or higher is None or self._is_alike(low, high):
            return False
        step = abs(higher.expected_accuracy - lower.expected_accuracy)
        nearest = NEAREST if step >= NEAREST_STEP else NEAR if step >= NEAR_STEP else WIDE
        return high - low > nearest

    def _may_be_wide(self, low: int, high: int) -> bool:
        """Whether tables may still turn out to be wanted between two neighbours."""
        return not (low in self._made and high in self._made) and not self._is_alike(low, high)

    def _is_alike(self, low: int, high: int) -> bool:
        """Whether no table is worth it there: accuracy is about the best at higher loads, or too many are late."""
        accurate = max(self._problem.accuracies) - NEAR_STEP
        if any(rung >= high and table.expected_accuracy > accurate for rung, table in self._made.items()):
            return True
        late_share = self._problem.late_share
        late = (self._made[low].expected_violation_rate - late_share) / (1.0 - late_share) if low in self._made else 0.0
        return late > OVERLOADED

"""Grids of decision tables by latency: which one is read for a worker, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, log

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import LATE_SHARE
from dispatch.selection.ramsis.tables.grid import TableGrid
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.table import DecisionTable

EXACT = 1.05
"""A reading promises something where the worker is slower than what its table was made for by no more than this
factor."""

OPTIMISM = 2.0
"""How much worse it is to read a table for a faster worker than one for a slower, by the same factor."""

OVERSIZE = 0.5
"""And how much less it matters that a table is for a higher load."""

FARTHEST = 1.35
"""Worse readings than by this factor are only taken where there is no other, and tables for loads lower by more than it
decide nothing at all. A first estimate of a load that has just risen is high, so that near to what can be borne no
table meets the load by it: of twelve workers that then took what was most accurate in time for the query at hand, one
query in seven was late for a second, and feedback took the slack away for a minute."""

BRIDGED = 2.7
"""Nor do tables for latencies as far away as this: workers 1.5 times slower are nearer, which is as far as first
estimates go. Workers that are in truth twice as slow keep more accuracy with the greedy policy, until there are
tables for them."""

TRUSTED = LATE_SHARE + 0.02
"""A table that expects more violations is for more than can be borne, and gives up what could be served: instead the
one for the highest load below is read. With twelve workers at 85% of what they bear, where the load of half a second is
anything from 75 to 95%, that is worth four points of accuracy."""

SHAPE = 0.25
"""How much worse it is for a part of the time, run or way, to be off by a factor; its share of the time, where that is
less. Where the way is a fiftieth of the time it must not outweigh the tail of runs: with twelve workers at 95% of what
they bear, tables for just that way, but for a tail 5% too long, were read instead of fitting ones: three points of
accuracy."""

SHORTEST_S = 1e-6
"""No batch takes less."""

MOST_KEPT = 4096


@dataclass(frozen=True)
class Reading:
    """A table, and the factors by which time on the worker differs from what it was made for.

    A worker c times slower, with objective S and load L, is the faster one with objective S / c and load c L: so the
    load is multiplied by ``mean``, and the slack divided by ``tail``, the factor of what nearly all batches take.
    ``meets_load`` unless the table is for a lower load, since there is none yet for this one. The table's queries have
    ``query_rows`` rows each.
    """

    table: DecisionTable
    mean: float
    tail: float
    meets_load: bool = True
    query_rows: int = 1

    @property
    def exact(self) -> bool:
        """Whether the bounds of the table hold for the worker."""
        return self.meets_load and self.mean <= EXACT and self.tail <= EXACT


@dataclass(frozen=True)
class _Scale:
    """How a worker compares with one level, whose tables for loads that can be borne these are."""

    grid: TableGrid
    mean: float
    tail: float
    cost: float


@dataclass(frozen=True, eq=False)
class LeveledGrids:
    """Grids for one device type and number of workers, by the latency that each was made for.

    All are for queries of ``query_rows`` rows. ``before`` are those for queries of another size, which are read for
    loads that only they meet.
    """

    grids: Mapping[LatencyLevel, TableGrid]
    query_rows: int = 1
    before: "LeveledGrids | None" = None
    _scales: dict[int, tuple[LatencyEstimate, tuple[_Scale, ...]]] = field(default_factory=dict, repr=False)

    def read(self, latency: LatencyEstimate, workers: int, load_qps: float) -> Reading | None:
        """The best table for a worker of this latency, where so many share a load of so many rows per second; None
        where none is near enough.

        A table should meet the load in rescaled time. Of those that do, the one that differs least, in latency and in
        load. One for a load that is lower by some factor counts as one for a latency that is off by it: where the load
        has risen faster than tables are made, or near to what can be borne, that is far better than none.
        """
        best = self._read(latency, workers, load_qps / self.query_rows)
        if self.before is None or (best is not None and best.meets_load):
            return best
        other = self.before.read(latency, workers, load_qps)
        return other if other is not None and (best is None or other.meets_load) else best

    def _read(self, latency: LatencyEstimate, workers: int, load_qps: float) -> Reading | None:
        best, best_cost = None, (True, inf)
        for scale in self._compared(latency):
            if (scale.cost >= log(FARTHEST), scale.cost) >= best_cost or scale.cost >= log(BRIDGED):
                break  # they ascend by cost
            shared_qps = load_qps if workers == scale.grid.workers else load_qps * scale.grid.workers / workers
            scaled_qps = shared_qps * scale.mean
            table = scale.grid.meeting(scaled_qps)
            meets_load = table is not None
            if table is None:
                table = scale.grid.tables[-1]
                cost = scale.cost + log(scaled_qps / table.load_qps)
                far = cost >= log(FARTHEST)
                if far and shared_qps >= FARTHEST * table.load_qps:
                    continue
            else:
                cost = scale.cost + OVERSIZE * log(max(table.load_qps / max(scaled_qps, 1.0), 1.0))
                far = scale.cost >= log(FARTHEST)
            if (far, cost) < best_cost:
                best, best_cost = Reading(table, scale.mean, scale.tail, meets_load, self.query_rows), (far, cost)
        return best

    def _compared(self, latency: LatencyEstimate) -> tuple[_Scale, ...]:
        kept = self._scales.get(id(latency))
        if kept is not None:
            return kept[1]
        borne = ((level, _borne(grid)) for level, grid in self.grids.items())
        scales = (_scale(level, grid, latency) for level, grid in borne if grid.tables)
        compared = tuple(sorted(scales, key=lambda scale: scale.cost))
        if len(self._scales) >= MOST_KEPT:
            self._scales.clear()
        self._scales[id(latency)] = latency, compared  # with the estimate, so that its id stays its own
        return compared


def factors(level: LatencyLevel, latency: LatencyEstimate) -> tuple[float, float]:
    """How many times slower than a level a worker is for batches such as its recent ones: on average, in nearly all
    cases."""
    run_s, made_for = latency.typical_run_s, level.estimate
    mean, tail = latency.busy_s(run_s), latency.tail_s(run_s)  # 0 before the first batch where no way is configured
    return max(mean, SHORTEST_S) / made_for.busy_s(run_s), max(tail, SHORTEST_S) / made_for.tail_s(run_s)


def _scale(level: LatencyLevel, grid: TableGrid, latency: LatencyEstimate) -> _Scale:
    mean, tail = factors(level, latency)
    run, path = latency.run_factor / level.run_factor, max(latency.path_s, 1e-4) / level.path_s
    path_share = level.path_s / (level.run_factor * latency.typical_run_s + level.path_s)
    apart = sum(map(_badness, (mean, tail)))
    apart += min(SHAPE, 1.0 - path_share) * abs(log(run)) + min(SHAPE, path_share) * abs(log(path))
    return _Scale(grid, mean, tail, apart / 2.0)


def _badness(factor: float) -> float:
    return OPTIMISM * log(factor) if factor > 1.0 else -log(factor)


def _borne(grid: TableGrid) -> TableGrid:
    """The tables that do not expect more violations than `TRUSTED`."""
    return TableGrid(tuple(t for t in grid.tables if t.expected_violation_rate <= TRUSTED), grid.beyond)

"""Grids of decision tables by latency: which one is read for a worker, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log

from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.ramsis.grid import TableGrid
from dispatch.selection.ramsis.latency_level import LatencyLevel

EXACT = 1.05
"""A reading promises something where the worker is slower than what its table was made for by no more than this factor."""

OPTIMISM = 4.0
"""How much worse it is to read a grid for a faster worker than one for a slower."""

MOST_KEPT = 1024


@dataclass(frozen=True)
class Reading:
    """A grid, and the factors by which time on the worker differs from what the grid was made for.

    A worker c times slower, with objective S and load L, is the faster one with objective S / c and load c L: so the
    load is multiplied by ``mean``, and the slack divided by ``tail``, the factor of what nearly all batches take.
    """

    grid: TableGrid
    mean: float
    tail: float

    @property
    def exact(self) -> bool:
        """Whether the bounds of the grid's tables hold for the worker."""
        return self.mean <= EXACT and self.tail <= EXACT


@dataclass(frozen=True, eq=False)
class LeveledGrids:
    """Grids for one device type and number of workers, by the latency that each was made for; at least one."""

    grids: Mapping[LatencyLevel, TableGrid]
    _kept: dict[int, tuple[LatencyEstimate, Reading]] = field(default_factory=dict, repr=False)

    def read(self, latency: LatencyEstimate) -> Reading:
        """The nearest grid for a worker, one for a slower worker where there is one; worked out once per estimate."""
        kept = self._kept.get(id(latency))
        if kept is not None:
            return kept[1]
        reading = min((_reading(level, grid, latency) for level, grid in self.grids.items()), key=_distance)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[id(latency)] = latency, reading  # with the estimate, so that its id stays its own
        return reading

    @property
    def variants(self) -> frozenset[str]:
        """Every variant that some table may choose."""
        return frozenset(variant for grid in self.grids.values() for variant in grid.variants)


def _reading(level: LatencyLevel, grid: TableGrid, latency: LatencyEstimate) -> Reading:
    run_s = latency.typical_run_s
    mean_s = level.mean_s(run_s)
    return Reading(grid, latency.mean_s(run_s) / mean_s, latency.tail_s(run_s) / (level.tail * mean_s))


def _distance(reading: Reading) -> float:
    return sum(OPTIMISM * log(c) if c > 1.0 else -log(c) for c in (reading.mean, reading.tail))

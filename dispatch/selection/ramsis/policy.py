"""Selection by decision tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import LATE_SHARE
from dispatch.selection.greedy import GreedySelection, soonest
from dispatch.selection.policy import Candidate, Choice, Hold, Promise, QueueView
from dispatch.selection.ramsis.tables.grid import TableGrid
from dispatch.selection.ramsis.tables.leveled_grids import LeveledGrids, Reading
from dispatch.selection.ramsis.tables.table import HOLD, SLACK_TOLERANCE_S, DecisionTable

SHORTEST_HOLD_S = 1e-6
"""Above the resolution of any clock that a host may have."""

_GREEDY = GreedySelection()


@dataclass(frozen=True)
class RamsisSelection:
    """Looks the queue's length, slack and phase up in the lowest-load table that meets the load (section 3.2.2).

    ``grids`` holds one grid of tables per device type, made for the plan's latencies, which are taken to be exact where
    a view has no others. ``leveled`` holds, per device type, grids for several levels of latency: what is measured on a
    worker says which of them is read, in rescaled time where none was made for just that. A grid made for another
    number of workers is read at the same load per worker.

    The greedy policy decides where there is no grid yet, where a grid's variant is not among the candidates (not
    loaded, or failing), and where clients allow more time than the objective, of which tables know nothing. Where the
    table's variant cannot be in time on this worker and a faster one can, that takes its place. Tables count queries
    of as many rows as are usual: what waits is taken for so many of those, and nothing is promised where that is wrong
    by some rows, or the first query is of another size. Tables know one length:
    where lengths differ they are read for all that waits, as so many rows of the usual one, and promise nothing. Nor is
    anything promised where the table's rows take several batches, after each of which it is read anew, and where the
    tables of another device type are for smaller groups, in which queries come then.
    """

    name: ClassVar[str] = "ramsis"
    grids: Mapping[str, TableGrid] = field(default_factory=dict)
    leveled: Mapping[str, LeveledGrids] = field(default_factory=dict)

    def choose(self, view: QueueView) -> Choice | Hold:
        """The table's decision; beyond a grid for exact latencies, the fastest variant with the whole queue."""
        reading = self.reading(view.device, view.latency, view.workers, view.load_qps)
        if reading is None:
            return _GREEDY.choose(view)
        table = reading.table
        slack_s = view.earliest_deadline_s - view.now_s
        if slack_s > table.slo_s * view.slack_share + SLACK_TOLERANCE_S:
            return _GREEDY.choose(view)
        slack_s /= reading.tail
        queued, each = view.queued_rows or view.rows, reading.query_rows
        queries = queued if each == 1 else max((queued + each // 2) // each, 1)
        phase = _phase_for(table.workers, view)
        index, rows = table.lookup(queries, slack_s, phase)
        if index == HOLD:
            hold_s = table.hold_s(queries, slack_s, phase) * reading.tail
            return Hold(view.now_s + max(hold_s, SHORTEST_HOLD_S))
        variant = table.variants[index]
        for candidate in view.candidates:
            if candidate.variant == variant:
                break
        else:
            return _GREEDY.choose(view)
        rows = queued if rows == queries else min(rows * each, queued)
        told = min(-(-rows * view.rows // queued), view.rows)  # of what waits, where short inputs count for less
        rows = candidate.batch_rows(max(told, view.first_rows))  # a query is never divided
        if view.latency is None:
            promised = rows == told and view.workers >= table.workers and self._grouped_for(table, view)
            return Choice(variant, rows, None, promise_of(table, late_share=0.0) if promised else None)
        usual = view.first_rows == each and queued == queries * each
        timely = _timely(candidate, rows, view)
        if timely is None:
            timely = soonest(view)
        elif (
            timely is candidate
            and usual
            and rows == told
            and _promises(reading, view)
            and self._grouped_for(table, view)
        ):
            return Choice(variant, rows, None, promise_of(table, LATE_SHARE))
        return Choice(timely.variant, timely.batch_rows(rows))

    def reading(self, device: str, latency: LatencyEstimate | None, workers: int, load_qps: float) -> Reading | None:
        """The table for a worker of this device type and latency under this load; None where there is none near
        enough."""
        leveled = self.leveled.get(device)
        if leveled is not None and latency is not None:
            return leveled.read(latency, workers, load_qps)
        grid = self.grids.get(device)
        return None if grid is None else Reading(grid.for_workers(workers, load_qps), mean=1.0, tail=1.0)

    def group(self, workers: int, load_qps: float, latency: LatencyEstimate | None) -> int:
        """How many consecutive queries round robin is to give to each of the workers; the least of all device types."""
        devices = (*self.leveled, *self.grids)
        readings = (self.reading(device, latency, workers, load_qps) for device in devices)
        return min((reading.table.group for reading in readings if reading is not None), default=1)

    def _grouped_for(self, table: DecisionTable, view: QueueView) -> bool:
        """Whether queries come in the groups that the table was made for: those of several device types may differ."""
        if view.workers == 1 or len(self.grids) + len(self.leveled) == 1:
            return True
        return table.group == self.group(view.workers, view.load_qps, view.latency)


def promise_of(table: DecisionTable, late_share: float) -> Promise:
    """The bounds of a table that was made for latencies which ``late_share`` of the batches exceed."""
    late = table.expected_violation_rate
    return Promise(table.expected_accuracy, late, max(late - late_share, 0.0) / (1.0 - late_share))


def _promises(reading: Reading, view: QueueView) -> bool:
    """Whether what a table expects holds here: fewer workers get their queries in larger bursts than it knows."""
    whole = view.slack_share >= 1.0 and not view.queued_rows
    return reading.exact and whole and view.workers >= reading.table.workers


def _phase_for(workers: int, view: QueueView) -> float:
    """The phase of a turn among so many workers that is as far within a worker's own queries, or those of the others,
    as the view's."""
    if workers == view.workers:
        return view.phase
    if workers == 1:
        return 0.0
    own, wanted = 1.0 / view.workers, 1.0 / workers
    if view.phase < own:
        return view.phase / own * wanted
    return wanted + (view.phase - own) / (1.0 - own) * (1.0 - wanted)


def _timely(chosen: Candidate, rows: int, view: QueueView) -> Candidate | None:
    """The chosen candidate, or the most accurate of the less accurate ones that is in time; None where none is."""
    slack_s = view.slack_s
    if chosen.latency_s[rows] <= slack_s:
        return chosen
    for candidate in view.candidates:
        if candidate.accuracy < chosen.accuracy and candidate.latency_s[candidate.batch_rows(rows)] <= slack_s:
            return candidate
    return None

"""Selection by decision tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Choice, Hold, QueueView
from dispatch.selection.ramsis.grid import TableGrid
from dispatch.selection.ramsis.table import HOLD, SLACK_TOLERANCE_S

SHORTEST_HOLD_S = 1e-6
"""Above the resolution of any clock that a host may have."""

_GREEDY = GreedySelection()


@dataclass(frozen=True)
class RamsisSelection:
    """Looks the queue's length, slack and phase up in the lowest-load table that meets the load (section 3.2.2).

    ``grids`` holds one grid of tables per device type. A grid made for another number of workers is read at the same
    load per worker. The greedy policy decides where a grid's variant is not among the candidates (not loaded, or
    failing), where there is no grid for the device, and where clients allow more time than the objective, of which
    tables know nothing.
    """

    name: ClassVar[str] = "ramsis"
    grids: Mapping[str, TableGrid]

    def choose(self, view: QueueView) -> Choice | Hold:
        """The table's decision; beyond the grid, the fastest variant with the whole queue."""
        grid = self.grids.get(view.device)
        if grid is None:
            return _GREEDY.choose(view)
        slack_s = view.earliest_deadline_s - view.now_s
        table = grid.for_workers(view.workers, view.load_qps)
        if slack_s > table.slo_s + SLACK_TOLERANCE_S:
            return _GREEDY.choose(view)
        index, rows = table.lookup(view.rows, slack_s, view.phase)
        if index == HOLD:
            return Hold(view.now_s + max(table.hold_s(view.rows, slack_s, view.phase), SHORTEST_HOLD_S))
        variant = table.variants[index]
        for candidate in view.candidates:
            if candidate.variant == variant:
                return Choice(variant, candidate.batch_rows(rows))
        return _GREEDY.choose(view)

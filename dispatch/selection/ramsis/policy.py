"""Selection by decision tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Choice, Hold, QueueView
from dispatch.selection.ramsis.grid import TableGrid
from dispatch.selection.ramsis.table import HOLD

_GREEDY = GreedySelection()


@dataclass(frozen=True)
class RamsisSelection:
    """Looks the queue's length, slack and phase up in the lowest-load table that meets the load (section 3.2.2).

    ``grids`` holds one grid of tables per device type. A grid made for another number of workers is read at the same
    load per worker. Where a grid's variant is not among the candidates (not loaded, or failing), or there is no
    grid for the device, the greedy policy decides.
    """

    name: ClassVar[str] = "ramsis"
    grids: Mapping[str, TableGrid]

    def choose(self, view: QueueView) -> Choice | Hold:
        """The table's decision; beyond the grid, the fastest variant with the whole queue."""
        grid = self.grids.get(view.device)
        if grid is None:
            return _GREEDY.choose(view)
        load_qps = view.load_qps * grid.workers / view.workers
        slack_s = view.earliest_deadline_s - view.now_s
        table = grid.at(load_qps)
        index, rows = table.lookup(view.rows, slack_s, view.phase)
        if index == HOLD:
            return Hold(view.now_s + table.hold_s(view.rows, slack_s, view.phase))
        variant = table.variants[index]
        for candidate in view.candidates:
            if candidate.variant == variant:
                return Choice(variant, candidate.batch_rows(rows))
        return _GREEDY.choose(view)

"""Each worker its share, and what is too much for one to whoever has room."""

from collections.abc import Sequence

from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.weighted_shares import WeightedShares


class OverflowShares(WeightedShares):
    """`WeightedShares` as long as the worker whose turn it is has a window left; else the one that is least full.

    Shares are of what the planned variants bear. In a burst workers run faster ones, and what these bear is in other
    proportions: a worker whose planned variant is its fastest already has no more to give. A worker's window is its
    largest batch: a query that joins so many others waits for the batch that runs and then for its own, which is what
    an objective has room for. Fullness is what waits and runs, over the window; of equals the first is taken.
    """

    def pick(self, loads: Sequence[WorkerLoad], now_s: float) -> int:
        """The worker of the turn, or the one that its overflow goes to."""
        index = super().pick(loads, now_s)
        load = loads[index]
        if load.queued_rows < load.slots or len(loads) == 1:
            return index
        return min(range(len(loads)), key=lambda number: _fullness(loads[number]))


def _fullness(load: WorkerLoad) -> float:
    return (load.queued_rows + load.running_rows) / max(load.slots, 1)

"""The fullest worker that still has room."""

from collections.abc import Sequence
from math import inf

from dispatch.balancing.balancer import WorkerLoad


class BinPacking:
    """Joins the worker with the least remaining free slots (Cocktail, section 4.2.1), so that others are left idle.

    A worker has as many slots as the largest batch that it runs has rows: the paper's packing factor. An idle worker
    has them at once, and of several the one with the fewest is taken; one that runs a batch has those of its next
    batch. Where every next batch is full, the worker with the least to do for its slots. Of equals the first, so that
    the same ones are left without work.
    """

    def pick(self, loads: Sequence[WorkerLoad], now_s: float) -> int:
        """The fullest."""
        chosen, least = -1, inf
        for index, load in enumerate(loads):
            if not load.running_rows and not load.queued_rows and load.slots < least:
                chosen, least = index, load.slots
        if chosen >= 0:
            return chosen
        for index, load in enumerate(loads):
            free = load.slots - load.queued_rows
            if 0 < free < least:
                chosen, least = index, free
        if chosen >= 0:
            return chosen
        return min(range(len(loads)), key=lambda index: loads[index].queued_rows / max(loads[index].slots, 1))

    def phase(self, index: int) -> float:
        """No turns."""
        return 0.0

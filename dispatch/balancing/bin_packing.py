"""The fullest worker that still has room."""

from collections.abc import Sequence

from dispatch.balancing.balancer import WorkerLoad


class BinPacking:
    """Submits what waits for the pool to the worker with the least remaining free slots (Cocktail, section 4.2.1).

    A worker has as many slots as its largest batch has rows: the paper's packing factor. It runs one batch at a time,
    so that either all of them are free or none: of the idle workers the one with the fewest slots takes what waits, and
    where none is idle jobs wait for the first that is. Of equals always the same one is taken, so that the others are
    left without work and can go.
    """

    central = True

    def pick(self, loads: Sequence[WorkerLoad], now_s: float) -> int:
        """The one with the fewest slots."""
        return min(range(len(loads)), key=lambda index: loads[index].slots)

    def phase(self, index: int) -> float:
        """No turns."""
        return 0.0

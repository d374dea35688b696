"""The worker with the least to do."""

from collections.abc import Sequence

from dispatch.balancing.balancer import WorkerLoad


class ShortestQueue:
    """Joins the queue with the fewest rows, running ones included (RAMSIS, appendix I.1).

    Of equals the first after the last pick, so that an idle cluster shares its work out.
    """

    central = False

    def __init__(self) -> None:
        self._last = -1

    def pick(self, loads: Sequence[WorkerLoad], now_s: float) -> int:
        """The least loaded worker."""
        rows = [load.queued_rows + load.running_rows for load in loads]
        least = min(rows)
        after_last = (self._last + 1) % len(rows)
        self._last = rows.index(least, after_last) if least in rows[after_last:] else rows.index(least)
        return self._last

    def phase(self, index: int) -> float:
        """No turns."""
        return 0.0

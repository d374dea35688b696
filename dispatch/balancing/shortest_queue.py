"""The worker with the least to do."""

from collections.abc import Sequence

from dispatch.balancing.balancer import WorkerLoad


class ShortestQueue:
    """Joins the queue with the fewest rows, running ones included (RAMSIS, appendix I.1).

    Of equals the first after the last pick, so that an idle cluster shares its work out.
    """

    def __init__(self) -> None:
        self._last = -1

    def pick(self, loads: Sequence[WorkerLoad]) -> int:
        """The least loaded worker."""
        count = len(loads)
        after_last = (self._last + 1) % count
        order = (*range(after_last, count), *range(after_last))
        self._last = min(order, key=lambda index: loads[index].queued_rows + loads[index].running_rows)
        return self._last

"""Each worker in turn."""

from collections.abc import Sequence

from dispatch.balancing.balancer import WorkerLoad


class RoundRobin:
    """Every worker gets every K-th job (RAMSIS, section 3.2.1), whatever it has to do already."""

    def __init__(self) -> None:
        self._turn = 0

    def pick(self, loads: Sequence[WorkerLoad]) -> int:
        """The next worker in turn."""
        index = self._turn % len(loads)
        self._turn = index + 1
        return index

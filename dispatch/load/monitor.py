"""The seam of load monitors."""

from typing import Protocol


class LoadMonitor(Protocol):
    """Anticipates the load of one endpoint from its arrivals; instants never decrease."""

    def on_arrival(self, now_s: float) -> None:
        """A query came."""
        ...

    def load_qps(self, now_s: float) -> float:
        """The load to reckon with from now on, in queries per second."""
        ...

"""The seam of load monitors."""

from typing import Protocol


class LoadMonitor(Protocol):
    """Anticipates the load of one endpoint from its arrivals; instants never decrease.

    A query of several rows counts as so many: rows are what variants are busy with.
    """

    def on_arrival(self, now_s: float) -> None:
        """A row came."""
        ...

    def load_qps(self, now_s: float) -> float:
        """The load to reckon with from now on, in queries of one row per second."""
        ...

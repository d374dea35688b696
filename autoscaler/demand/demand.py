"""The load that a plan is made for."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Protocol

from autoscaler.cluster.observation import Statistics


class DemandEstimate(Protocol):
    """Turns what happened into the load to plan for. Statistics come in the order of time."""

    def on_statistics(self, statistics: Statistics) -> None:
        """Another interval is over."""
        ...

    def demand_qps(self) -> Mapping[str, float]:
        """By endpoint, in queries per second."""
        ...


class MovingMaximum:
    """The highest load of any ``mean_s`` within the last ``window_s``: quick to rise, slow to fall.

    An endpoint that was ever reported has ``least_qps``: who asks once a minute wants an answer too, and has a worker.
    ``endpoints`` have it from the start.
    """

    def __init__(
        self, window_s: float = 4.0, mean_s: float = 1.0, least_qps: float = 0.1, endpoints: Iterable[str] = ()
    ) -> None:
        self._least_qps = least_qps
        self._known = dict.fromkeys(endpoints, least_qps)
        self._window_s = window_s
        self._mean_s = mean_s
        self._recent: deque[Statistics] = deque()
        self._means: deque[tuple[float, dict[str, float]]] = deque()

    def on_statistics(self, statistics: Statistics) -> None:
        """The interval's load joins the running mean."""
        self._recent.append(statistics)
        while self._recent[0].end_s <= statistics.end_s - self._mean_s + 1e-9:
            self._recent.popleft()
        length_s = statistics.end_s - self._recent[0].start_s
        names = dict.fromkeys(name for each in self._recent for name in each.arrived)
        self._known |= dict.fromkeys(names, self._least_qps)
        mean = {name: sum(each.arrived.get(name, 0) for each in self._recent) / length_s for name in names}
        self._means.append((statistics.end_s, mean))
        while self._means[0][0] <= statistics.end_s - self._window_s + 1e-9:
            self._means.popleft()

    def demand_qps(self) -> dict[str, float]:
        """The maximum of each endpoint."""
        highest = dict(self._known)
        for _, mean in self._means:
            for name, qps in mean.items():
                highest[name] = max(qps, highest.get(name, 0.0))
        return highest

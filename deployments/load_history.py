"""How many queries came in every second, for those who forecast."""

from collections.abc import Mapping, Sequence

from autoscaler.observation import Statistics

HOUR_S = 3600
KEPT_HOURS = 24 * 28

Hour = dict[str, list[int]]
"""Endpoint to its queries in each second of one hour."""


class LoadHistory:
    """Counts per second and endpoint, in documents of an hour each; instants are seconds since the epoch."""

    def __init__(self) -> None:
        self._hours: dict[int, Hour] = {}

    @staticmethod
    def document(now_s: float) -> str:
        """What the document of an instant is called; names are in the order of time."""
        return f"load/{int(now_s) // HOUR_S:010d}"

    @staticmethod
    def outdated(names: Sequence[str], now_s: float) -> list[str]:
        """The documents that nobody needs any more."""
        return [name for name in names if name < LoadHistory.document(now_s - KEPT_HOURS * HOUR_S)]

    def restore(self, document: Mapping[str, Sequence[int]], now_s: float) -> None:
        """Go on with the document of this instant, before anything is added to its hour."""
        self._hours[int(now_s) // HOUR_S] = {endpoint: list(counts) for endpoint, counts in document.items()}

    def add(self, statistics: Statistics) -> None:
        """Another window is over, in any order; it counts in the second in which it began."""
        hour, second = divmod(int(statistics.start_s), HOUR_S)
        counts = self._hours.setdefault(hour, {})
        for endpoint, arrived in statistics.arrived.items():
            counts.setdefault(endpoint, [0] * HOUR_S)[second] += arrived

    def take_documents(self) -> dict[str, Hour]:
        """Everything to be written, copied; all but the newest hour and the one before are then forgotten here.

        Routers that could not report for a while still do so for the hour before.
        """
        copied = {
            self.document(hour * HOUR_S): {endpoint: list(counts) for endpoint, counts in of_hour.items()}
            for hour, of_hour in self._hours.items()
        }
        self._hours = {hour: counts for hour, counts in self._hours.items() if hour >= max(self._hours) - 1}
        return copied

"""How many queries came in every second, for those who forecast."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Statistics
from deployments.state.store import StateStore
from forecast.series.series import LoadSeries

logger = logging.getLogger("ray.serve")

HOUR_S = 3600
KEPT_HOURS = 24 * 28
PREFIX = "load/"

Hour = dict[str, list[int | None]]
"""Endpoint to its queries in each second of one hour; None where nobody observed it.

Documents of before there were forecasts have 0 for that as well.
"""


class LoadHistory:
    """Counts per second and endpoint, in documents of an hour each; instants are seconds since the epoch.

    Every report is about all ``endpoints``: those it does not name had no query.
    """

    def __init__(self, endpoints: Iterable[str] = ()) -> None:
        self._endpoints = tuple(endpoints)
        self._hours: dict[int, Hour] = {}
        self._added: set[int] = set()

    @staticmethod
    def document(now_s: float) -> str:
        """What the document of an instant is called; names are in the order of time."""
        return f"{PREFIX}{int(now_s) // HOUR_S:010d}"

    @staticmethod
    def outdated(names: Sequence[str], now_s: float) -> list[str]:
        """The documents that nobody needs any more."""
        return [name for name in names if name < LoadHistory.document(now_s - KEPT_HOURS * HOUR_S)]

    def restore(self, document: Mapping[str, Sequence[int | None]], now_s: float) -> None:
        """Go on with the document of this instant, before anything is added to its hour.

        Raises AttributeError, TypeError or ValueError where it is no such document, and takes up nothing of it.
        """
        for counts in document.values():
            _numbers(counts)
        self._hours[int(now_s) // HOUR_S] = {endpoint: list(counts) for endpoint, counts in document.items()}

    def add(self, statistics: Statistics) -> None:
        """Another window is over, in any order; it counts in the second in which it began."""
        hour, second = divmod(int(statistics.start_s), HOUR_S)
        counts = self._hours.setdefault(hour, {})
        self._added.add(hour)
        for endpoint in dict.fromkeys((*self._endpoints, *statistics.arrived)):
            own = counts.setdefault(endpoint, [None] * HOUR_S)
            own[second] = (own[second] or 0) + statistics.arrived.get(endpoint, 0)

    def series(self, until_s: float) -> dict[str, LoadSeries]:
        """What is known here of the newest hours, up to an instant, by endpoint."""
        return _joined(sorted(self._hours.items()), 0, until_s)

    def take_documents(self) -> dict[str, Hour]:
        """Everything to be written, copied; what is older than the hour before the ones under way is forgotten here.

        Routers that could not report for a while still do so for the hour before. Under way is what was added to since
        the last time: a clock that was ahead once has left a later hour.
        """
        copied = {
            self.document(hour * HOUR_S): {endpoint: list(counts) for endpoint, counts in of_hour.items()}
            for hour, of_hour in self._hours.items()
        }
        first = min(self._added, default=0) - 1
        self._hours = {hour: counts for hour, counts in self._hours.items() if hour >= first}
        self._added.clear()
        return copied

    def take_back(self, documents: Mapping[str, Any]) -> None:
        """What `take_documents` gave could not be written: know again what was forgotten of it."""
        for name, document in documents.items():
            if name.startswith(PREFIX):
                self._hours.setdefault(int(name.removeprefix(PREFIX)), document)


def hours_kept(store: StateStore, from_s: float) -> int:
    """How many hours of load from then on are there, the one under way not counted; blocks."""
    return max(0, sum(name >= LoadHistory.document(from_s) for name in store.names(PREFIX)) - 1)


def kept_series(store: StateStore, from_s: float, until_s: float) -> dict[str, LoadSeries]:
    """The load between two instants by endpoint, as far as it was observed; blocks.

    Documents that cannot be read are logged and left out.
    """
    hours = []
    for hour in range(int(from_s) // HOUR_S, int(until_s) // HOUR_S + 1):
        name = LoadHistory.document(hour * HOUR_S)
        try:
            if (document := store.read(name)) is not None:
                hours.append((hour, {endpoint: _numbers(counts) for endpoint, counts in document.items()}))
        except Exception:
            logger.exception("Of the load, %r cannot be read, and is left out.", name)
    return _joined(hours, from_s, until_s)


def _numbers(counts: Sequence[int | None]) -> NDArray[np.float64]:
    """Shape ``[HOUR_S]``, NaN where nobody observed; raises ValueError for what is no such document."""
    found = np.array(counts, dtype=np.float64)
    if found.shape != (HOUR_S,) or (found < 0).any() or np.isinf(found).any():
        raise ValueError(f"there are no {HOUR_S} counts from 0 on")
    return found


def _joined(
    hours: Iterable[tuple[int, Mapping[str, Sequence[int | None] | NDArray[np.float64]]]], from_s: float, until_s: float
) -> dict[str, LoadSeries]:
    """Hours in the order of time as one series for each endpoint; those never observed have none."""
    times_s: dict[str, list[NDArray[np.int64]]] = {}
    loads_qps: dict[str, list[NDArray[np.float64]]] = {}
    for hour, by_endpoint in hours:
        seconds_s = hour * HOUR_S + np.arange(HOUR_S, dtype=np.int64)
        wanted = (seconds_s >= from_s) & (seconds_s < until_s)
        for endpoint, counts in by_endpoint.items():
            loads = np.asarray(counts, dtype=np.float64)
            there = wanted & ~np.isnan(loads)
            times_s.setdefault(endpoint, []).append(seconds_s[there])
            loads_qps.setdefault(endpoint, []).append(loads[there])
    joined = {name: (np.concatenate(times_s[name]), np.concatenate(loads_qps[name])) for name in times_s}
    return {name: LoadSeries(times, loads) for name, (times, loads) in joined.items() if len(times)}

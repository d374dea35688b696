"""The load of the recent past, second by second."""

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Statistics
from catalog.errors import BadSeries
from forecast.series.series import LoadSeries

SECOND_MS = 1000


class RecentLoad:
    """Queries per second and endpoint in the seconds that are over, for at least the last ``kept_s``.

    ``epoch_s`` is the instant, in seconds since the epoch, that is 0 to those who report. Seconds that were not
    reported whole are gaps, not seconds without load; in the others, an endpoint that nobody spoke of had none.
    """

    def __init__(self, kept_s: int, epoch_s: float = 0.0) -> None:
        self._kept_s = kept_s
        self._epoch_s = epoch_s
        self._first_s: int | None = None
        self._end_ms = 0
        self._reported_ms = np.zeros(2 * kept_s, dtype=np.int64)
        self._counts: dict[str, NDArray[np.float64]] = {}

    @property
    def known_until_s(self) -> int | None:
        """The end of the newest second that is over, None before anything is known."""
        return None if self._first_s is None else self._end_ms // SECOND_MS

    def on_statistics(self, statistics: Statistics) -> None:
        """An interval is over: its queries are spread evenly over its seconds. What is too old is not kept."""
        start_ms, end_ms = (
            round((at_s + self._epoch_s) * SECOND_MS) for at_s in (statistics.start_s, statistics.end_s)
        )
        for second_s in range(start_ms // SECOND_MS, -(-end_ms // SECOND_MS)):
            at = self._place(second_s)
            if at is None:
                continue
            within_ms = min(end_ms, (second_s + 1) * SECOND_MS) - max(start_ms, second_s * SECOND_MS)
            self._reported_ms[at] += within_ms
            for name, arrived in statistics.arrived.items():
                self._of(name)[at] += arrived * within_ms / (end_ms - start_ms)
        self._end_ms = max(self._end_ms, end_ms)

    def add(self, endpoint: str, series: LoadSeries) -> None:
        """Take up what was kept elsewhere; where both know of a second, the higher load counts.

        What is still to be reported here must not be in it, or it would count twice. Raises `BadSeries` for steps of
        other than 1 s.
        """
        if series.step_s != 1:
            raise BadSeries(f"the series has steps of {series.step_s} s; give one with steps of 1 s")
        self._place(series.end_s - 1)
        at = series.times_s - (self._first_s or 0)
        kept = at >= 0
        counts, at = self._of(endpoint), at[kept]
        counts[at] = np.maximum(counts[at], series.loads_qps[kept])
        self._reported_ms[at] = SECOND_MS
        self._end_ms = max(self._end_ms, series.end_s * SECOND_MS)

    def series(self, endpoint: str, last_s: int) -> LoadSeries | None:
        """The endpoint's load in the newest ``last_s`` seconds that are known, gaps left out, or as many as there are.

        None where there are none.
        """
        if self._first_s is None:
            return None
        over = self._end_ms // SECOND_MS - self._first_s
        there = np.flatnonzero(self._reported_ms[:over] >= SECOND_MS)[-last_s:]
        if not len(there):
            return None
        return LoadSeries(self._first_s + there.astype(np.int64), self._of(endpoint)[there])

    # -- inner steps ------------------------------------------------------------------------------------------

    def _of(self, endpoint: str) -> NDArray[np.float64]:
        if endpoint not in self._counts:
            self._counts[endpoint] = np.zeros(2 * self._kept_s)
        return self._counts[endpoint]

    def _place(self, second_s: int) -> int | None:
        """Where a second is kept, after making room for it; None for one from before all that is kept."""
        if self._first_s is None:
            self._first_s = second_s - self._kept_s
        at = second_s - self._first_s
        if at >= 2 * self._kept_s:
            self._forget(at - self._kept_s)
            at = self._kept_s
        return at if at >= 0 else None

    def _forget(self, seconds: int) -> None:
        """Let go of the oldest seconds."""
        assert self._first_s is not None
        for each in (self._reported_ms, *self._counts.values()):
            kept = each[seconds:].copy()
            each[: len(kept)] = kept
            each[len(kept) :] = 0
        self._first_s += seconds

"""Arrivals of the last moments."""

from collections import deque
from math import inf


class MovingAverage:
    """Rows per second over the last ``window_s`` (RAMSIS, section 6: 500 ms).

    Until a full window has passed since the first arrival, the average is over the time that has, and over a tenth
    of the window at least. So it is after a lull of a full window, where the arrival that ends it tells nothing of the
    load and does not count, nor do other rows of its instant, as of one query; until then the load is at least what it
    was before the lull. A window that fills up again would have workers begin what is right for a light load, and
    those that come meanwhile wait behind it.
    """

    def __init__(self, window_s: float = 0.5) -> None:
        self._window_s = window_s
        self._arrivals_s: deque[float] = deque()
        self._begun_s = inf  # the first arrival, or that after the last lull
        self._begun_rows = 0  # of that instant
        self._last_s = inf
        self._last_rows = 0  # in the window that ended with the last arrival
        self._before_qps: float | None = None  # the last lull; None where there was none

    def on_arrival(self, now_s: float) -> None:
        """A row came."""
        arrivals_s, start_s = self._arrivals_s, now_s - self._window_s
        if self._begun_s == inf:
            self._begun_s = now_s
        elif start_s >= self._last_s:
            self._before_qps = self._last_rows / self._window_s
            self._begun_s, self._begun_rows = now_s, 0
        if now_s == self._begun_s:
            self._begun_rows += 1
        arrivals_s.append(now_s)
        while arrivals_s[0] <= start_s:
            arrivals_s.popleft()
        self._last_s, self._last_rows = now_s, len(arrivals_s)

    def load_qps(self, now_s: float) -> float:
        """Arrivals in the window ``(now - window_s, now]``, per second."""
        arrivals_s = self._arrivals_s
        start_s = now_s - self._window_s
        while arrivals_s and arrivals_s[0] <= start_s:
            arrivals_s.popleft()
        average_qps = len(arrivals_s) / self._window_s
        if start_s >= self._begun_s:
            return average_qps
        passed_s = max(now_s - self._begun_s, 0.1 * self._window_s)
        if self._before_qps is None:
            return len(arrivals_s) / passed_s
        return max(average_qps, (len(arrivals_s) - self._begun_rows) / passed_s, self._before_qps)

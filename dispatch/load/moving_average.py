"""Arrivals of the last moments."""

from collections import deque
from math import inf


class MovingAverage:
    """Rows per second over the last ``window_s`` (RAMSIS, section 6: 500 ms).

    Until a full window has passed since the first arrival, the average is over the time that has, and over a tenth
    of the window at least.
    """

    def __init__(self, window_s: float = 0.5) -> None:
        self._window_s = window_s
        self._arrivals_s: deque[float] = deque()
        self._first_s = inf

    def on_arrival(self, now_s: float) -> None:
        """A row came."""
        if self._first_s == inf:
            self._first_s = now_s
        self._arrivals_s.append(now_s)
        if self._arrivals_s[0] <= now_s - self._window_s:  # so that they stay few, also where nobody asks
            self._arrivals_s.popleft()

    def load_qps(self, now_s: float) -> float:
        """Arrivals in the window ``(now - window_s, now]``, per second."""
        arrivals_s = self._arrivals_s
        start_s = now_s - self._window_s
        while arrivals_s and arrivals_s[0] <= start_s:
            arrivals_s.popleft()
        if start_s >= self._first_s:
            return len(arrivals_s) / self._window_s
        return len(arrivals_s) / max(now_s - self._first_s, 0.1 * self._window_s)

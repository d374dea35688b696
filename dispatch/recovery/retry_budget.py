"""A bound on what is launched again, so that retries cannot feed the load that made them necessary."""

from math import exp

SHARE = 0.2
"""So many jobs may be launched again for each that was launched (as in Finagle's `RetryBudget`) ..."""

WINDOW_S = 10.0
"""... within about so long; older launches, and older retries, count for less and less."""

ALWAYS = 100.0
"""So many jobs may be launched again within the window however few were launched."""


class RetryBudget:
    """A token bucket that leaks: launches fill it, retries empty it, and either is forgotten after `WINDOW_S`.

    ``now_s`` never decreases.
    """

    def __init__(self) -> None:
        self.launched = 0
        """Jobs launched since the last `settle`; to be counted up by whoever launches."""
        self._balance = 0.0
        self._settled_s: float | None = None

    def settle(self, now_s: float) -> None:
        """Take note of what was launched; call it every second or so while anything is."""
        if self._settled_s is not None:
            self._balance *= exp((self._settled_s - now_s) / WINDOW_S)
        self._balance += SHARE * self.launched
        self._settled_s = now_s
        self.launched = 0

    def take(self, jobs: int, now_s: float) -> bool:
        """Whether all jobs of a batch may be launched again: they may while anything is left, never some of them."""
        self.settle(now_s)
        if self._balance + ALWAYS <= 0.0:
            return False
        self._balance -= jobs
        return True

"""Tells a worker on which nothing runs any more from queries that make models raise."""

import time

LEAST_RUNS = 20
LEAST_S = 10.0
"""A worker is in doubt when so many runs in a row raised, the first of them so long before the last ..."""


class RaisedRuns:
    """Counts the runs of one worker that raised since the last one that came back; any thread may ask.

    A worker in doubt is to be tried on inputs of its own: the queries may be to blame, all of one client's perhaps.
    Only where they raise as well it is said to be broken, until a run comes back.
    """

    def __init__(self) -> None:
        self._runs = 0
        self._since_s = 0.0
        self._why: str | None = None

    def came_back(self) -> None:
        """A run gave outputs: the worker works."""
        self._runs = 0
        self._why = None

    def raised(self) -> bool:
        """A run raised; gives whether the worker is in doubt."""
        now_s = time.perf_counter()
        if not self._runs:
            self._since_s = now_s
        self._runs += 1
        return self._runs >= LEAST_RUNS and now_s - self._since_s >= LEAST_S

    def blame(self, variant: str, reason: str) -> None:
        """The ``variant`` raised on inputs of the worker's own, for this ``reason``."""
        over_s = time.perf_counter() - self._since_s
        self._why = (
            f"the last {self._runs} runs, over {over_s:.1f} s, raised, and so did variant {variant} on made-up inputs: "
            f"{reason}"
        )

    def why(self) -> str | None:
        """Why the worker is broken, in words; None where it is not."""
        return self._why

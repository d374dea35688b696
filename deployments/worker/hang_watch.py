"""Tells a batch that hangs from one that takes long."""

import time

LEAST_S = 5.0
TIMES = 10.0
"""A batch hangs when it has run for `TIMES` times what rows of about its length, up to twice as long, ever took on the
variant, and for as many times the longest batch of such rows, since part of a run may not depend on their number;
`LEAST_S` at least ..."""

UNKNOWN_S = 60.0
"""... or for so long, where none of that length came back from the variant yet."""


class HangWatch:
    """Follows the runs of one worker, of which there is one at a time; any thread may ask."""

    def __init__(self) -> None:
        self._longest_row_s: dict[tuple[str, int], float] = {}
        self._longest_run_s: dict[tuple[str, int], float] = {}
        self._running: tuple[str, int, int, float] | None = None

    def begin(self, variant: str, rows: int, length: int = 0) -> None:
        """A batch begins to run; ``length`` is 0 where all are of one length."""
        self._running = (variant, rows, length.bit_length(), time.perf_counter())

    def end(self, *, came_back: bool) -> None:
        """It came back, or raised, which says nothing of how long the variant takes."""
        running, self._running = self._running, None
        if running is None or not came_back:
            return
        variant, rows, length, began_s = running
        key, run_s = (variant, length), time.perf_counter() - began_s
        self._longest_row_s[key] = max(run_s / max(rows, 1), self._longest_row_s.get(key, 0.0))
        self._longest_run_s[key] = max(
            run_s, self._longest_run_s.get(key, 0.0)
        )  # last: another thread looks here first

    def why(self) -> str | None:
        """Why the worker makes no progress, in words; None where it does, or where nothing runs."""
        running = self._running
        if running is None:
            return None
        variant, rows, length, began_s = running
        patience_s = UNKNOWN_S
        if (key := (variant, length)) in self._longest_run_s:
            likely_s = max(self._longest_row_s[key] * rows, self._longest_run_s[key])
            patience_s = max(LEAST_S, TIMES * likely_s)
        ran_s = time.perf_counter() - began_s
        if ran_s <= patience_s:
            return None
        return f"a batch of {rows} rows runs on variant {variant} for {ran_s:.1f} s; {patience_s:.1f} s would be long"

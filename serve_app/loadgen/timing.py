"""Where the time of an answer went."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self


class Timing(NamedTuple):
    """By the server's account, of the batch that a query was answered in.

    Its run took ``run_s``, and it spent ``way_s`` between its launch and its result besides that. It had ``rows``.
    """

    run_s: float
    way_s: float
    rows: int

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self | None:
        """From the parameters of an answer; None where the server does not tell."""
        names = ("latency_ms", "queue_ms", "run_ms", "batch_size")
        latency_ms, queue_ms, run_ms, rows = (parameters.get(name) for name in names)
        if latency_ms is None or queue_ms is None or run_ms is None or rows is None:
            return None
        return cls(float(run_ms) / 1e3, max(float(latency_ms) - float(queue_ms) - float(run_ms), 0.0) / 1e3, int(rows))

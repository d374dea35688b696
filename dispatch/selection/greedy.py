"""The most accurate variant that still meets the earliest deadline."""

from dataclasses import dataclass
from typing import ClassVar

from dispatch.selection.policy import Candidate, Choice, QueueView

NEARLY = 1.1
"""A variant that takes up to this multiple of the fastest one's time is next to no slower."""


@dataclass(frozen=True)
class GreedySelection:
    """Takes the whole waiting batch and the most accurate variant whose p95 for it fits into the slack.

    Where none fits, the deadline is lost or nearly so, and `soonest` runs, which shortens the wait of everyone behind.
    The policy looks at what waits and never at what will arrive: the arrival-unaware baseline of MDInference, which
    RAMSIS improves on.
    """

    name: ClassVar[str] = "greedy"

    def choose(self, view: QueueView) -> Choice:
        """The most accurate variant in time, else the fastest."""
        slack_s = view.slack_s
        for candidate in view.candidates:
            rows = candidate.batch_rows(view.rows)
            if candidate.time_s(candidate.latency_s, max(rows, view.first_rows)) <= slack_s:
                return Choice(candidate.variant, rows)
        candidate = soonest(view)
        return Choice(candidate.variant, candidate.batch_rows(view.rows))


def soonest(view: QueueView) -> Candidate:
    """Of the variants that take next to no longer than the fastest per row of the waiting batch, the most accurate.

    Beside the way to the worker, which all variants share, the fastest may save less than it costs in accuracy.
    """
    per_row_s = [c.busy_s[c.batch_rows(view.rows)] / c.batch_rows(view.rows) for c in view.candidates]
    limit_s = min(per_row_s) * NEARLY
    return next(c for c, row_s in zip(view.candidates, per_row_s, strict=True) if row_s <= limit_s)

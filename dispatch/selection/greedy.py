"""The most accurate variant that still meets the earliest deadline."""

from dataclasses import dataclass
from typing import ClassVar

from dispatch.selection.policy import Choice, QueueView


@dataclass(frozen=True)
class GreedySelection:
    """Takes the whole waiting batch and the most accurate variant whose p95 for it fits into the slack.

    Where none fits, the deadline is lost or nearly so, and the variant that is fastest for the batch runs,
    which shortens the wait of everyone behind. The policy looks at what waits and never at what will
    arrive: the arrival-unaware baseline of MDInference, which RAMSIS improves on.
    """

    name: ClassVar[str] = "greedy"

    def choose(self, view: QueueView) -> Choice:
        """The most accurate variant in time, else the fastest."""
        slack_s = view.slack_s
        for candidate in view.candidates:
            rows = candidate.batch_rows(view.rows)
            if candidate.latency_s[rows] <= slack_s:
                return Choice(candidate.variant, rows)
        fastest = min(view.candidates, key=lambda c: c.latency_s[c.batch_rows(view.rows)] / c.batch_rows(view.rows))
        return Choice(fastest.variant, fastest.batch_rows(view.rows))

"""Early drop, as in Nexus."""

from dataclasses import dataclass
from typing import ClassVar

from dispatch.batching.window import ROUNDING_S, settled
from dispatch.selection.policy import Choice, Drop, QueueView


@dataclass(frozen=True)
class EarlyDrop:
    """Launches the first window of queries that can all be in time, and gives up those in front of it.

    A window has as many rows as one batch can hold, or all that wait. Proactive and work-conserving: a worker is never
    idle while something waits (Nexus, section 4.3; Proteus, section 6.4).
    """

    name: ClassVar[str] = "nexus"

    def choose(self, view: QueueView) -> Choice | Drop:
        """A full window at once, or who keeps it from being in time."""
        candidate = settled(view)
        latency_s, rows = candidate.latency_s, view.rows
        window = candidate.batch_rows(rows)
        if latency_s[window] <= view.slack_s - ROUNDING_S:
            return Choice(candidate.variant, window)
        now_s = view.now_s + ROUNDING_S
        deadlines_s = view.deadlines_s()
        for dropped in range(1, rows):
            if now_s + latency_s[candidate.batch_rows(rows - dropped)] <= deadlines_s[dropped]:
                return Drop(dropped)
        return Drop(rows)

"""Proteus's adaptive batching: wait for a fuller batch, never beyond the first deadline."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar

from dispatch.batching.fallback import fallen_back
from dispatch.batching.window import ROUNDING_S, settled
from dispatch.selection.policy import Candidate, Choice, Drop, Hold, QueueView

SHORTEST_HOLD_S = 1e-6
"""Above the resolution of any clock that a host may have."""


@dataclass(frozen=True)
class AdaptiveBatching:
    """Holds q rows until the last instant at which q + 1 could be in time for the first deadline, then launches q.

    Proactive and non-work-conserving (Proteus, section 5). A full batch is launched at once, and no batch ever after
    the instant at which its first query could still be met. Where the paper is silent:

    - A row alone takes T(1) of the worker, in a full batch of b rows only T(b) / b. The difference is what waiting can
      save at most, and nobody waits for longer than that: nearly a batch's time where a full one takes hardly longer
      than a single row, and not at all where latency is linear in the rows.
    - Where the first deadline leaves no time for all rows that one batch could hold, those in front of the window that
      serves the most rows per second are given up: nobody where a smaller batch is as good, and whoever cannot be met.
    - Where the worker holds faster variants beside the planned one, a batch runs on one of them when the planned one
      cannot serve all that waits in time (`fallen_back`); such a batch waits for nobody.

    ``margin_s`` is how much earlier than at the last instant a hold ends, for hosts whose timers come late.
    """

    name: ClassVar[str] = "adaptive_batching"
    margin_s: float = SHORTEST_HOLD_S

    def choose(self, view: QueueView) -> Choice | Hold | Drop:
        """A batch, or the instant until which to wait for more, or who is given up."""
        planned = settled(view)
        candidate = fallen_back(view, planned)
        latency_s, rows = candidate.latency_s, view.rows
        most = candidate.max_batch
        if rows < most and candidate is planned:
            last_s = view.earliest_deadline_s - latency_s[rows + 1] - self.margin_s
            until_s = min(last_s, view.first_arrival_s + candidate.busy_s[1] - candidate.busy_s[most] / most)
            if until_s > view.now_s + SHORTEST_HOLD_S:
                return Hold(until_s)
        batch = min(rows, most)
        if latency_s[batch] <= view.slack_s - ROUNDING_S:
            return Choice(candidate.variant, batch)
        return _best_window(view, candidate)


def _best_window(view: QueueView, candidate: Candidate) -> Choice | Drop:
    """The window of rows in time with the most rows per second, of equals the first; give up what is in front of it."""
    latency_s, busy_s, deadlines_s = candidate.latency_s, candidate.busy_s, view.deadlines_s()
    begin_s = view.now_s + ROUNDING_S
    best_qps, first, batch = 0.0, view.rows, 0
    for number, deadline_s in enumerate(deadlines_s):
        window = candidate.batch_rows(view.rows - number)
        rows = bisect_right(latency_s, deadline_s - begin_s, 1, window + 1) - 1
        if rows and rows / busy_s[rows] > best_qps:
            best_qps, first, batch = rows / busy_s[rows], number, rows
        if rows == window:  # no window further on holds more
            break
    if first or batch < view.first_rows:  # a query is not cut in two
        return Drop(max(first, 1))
    return Choice(candidate.variant, batch)

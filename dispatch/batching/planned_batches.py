"""Batches of the size that a plan reckons with, larger ones where more waits, better ones where there is time."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import ClassVar

from dispatch.selection.greedy import soonest
from dispatch.selection.policy import Candidate, Choice, QueueView

SPENT = 0.5
"""A variant beyond the plan, or one that falls behind it, may make use of so much of what there is time for; the rest
is for bursts. In simulation (`benchmarks.ipa`, the excerpts for tuning) 0.8 is 0 to 2 points more accurate, and 0.3
four to fifteen less. A pipeline on one core for all (`benchmarks.live_pipeline`) has 0.6 to 1.4% late where a
variant may fall behind by the whole slack, 0.1 to 0.3% so."""


@dataclass(frozen=True)
class PlannedBatches:
    """Takes all that waits with the most accurate variant for which that is in time, or as much of it as is.

    ``batch_rows`` are planned by variant: with a variant that is planned no smaller batch is formed than that, or than
    all that waits. A worker never waits for a batch to fill, and more rows than planned run together only where more
    wait, so that a stage that falls behind its plan catches up. Where all that waits would take a variant, with
    ``worker_share`` of the workers at it, longer than the ``run_s`` that the plan reckons with and than `SPENT` of the
    slack, a faster one runs that they hold; where no variant is in time with its planned batch, the fastest runs all
    that waits.

    A worker may hold more accurate variants than the planned one, which would not bear the load. One of them runs where
    its batch and then the planned variant, with all that waits by then, are in time: what is left of this batch and the
    arrivals meanwhile, in batches as large as they go, divided among ``worker_share`` of the workers, since others that
    hold the stage's variants are there for other stages. The stage may use ``time_share`` of the slack for that and
    leaves the rest to those behind it; a batch takes ``longest_s`` at most, since other stages may wait for the same
    worker.
    """

    batch_rows: Mapping[str, int]
    worker_share: float = 1.0
    time_share: float = 1.0
    longest_s: float = inf
    run_s: float = 0.0
    name: ClassVar[str] = "planned_batches"

    def choose(self, view: QueueView) -> Choice:
        """The most accurate variant in time, else the fastest."""
        slack_s, candidates = view.slack_s, view.candidates
        place = next((n for n, candidate in enumerate(candidates) if candidate.variant in self.batch_rows), 0)
        for candidate in candidates[:place]:
            if rows := self._rows_beyond(candidate, candidates[place], view):
                return Choice(candidate.variant, rows)
        for candidate in candidates[place:]:
            most, planned = candidate.batch_rows(view.rows), self.batch_rows.get(candidate.variant, 1)
            in_time = min(most, bisect_right(candidate.latency_s, slack_s) - 1)
            is_last = candidate is candidates[-1]
            if in_time >= min(most, max(planned, view.first_rows)) and (is_last or self._bears(candidate, view)):
                return Choice(candidate.variant, in_time)
        candidate = soonest(view)
        return Choice(candidate.variant, candidate.batch_rows(view.rows))

    def _bears(self, candidate: Candidate, view: QueueView) -> bool:
        """Whether a variant runs all that waits as soon as is planned for, or with time left for what comes next."""
        cleared_s = _cleared_s(candidate, ceil(view.rows / self._workers(view)))
        return cleared_s <= max(self.run_s, SPENT * view.slack_s)

    def _workers(self, view: QueueView) -> float:
        return max(self.worker_share * view.workers, 1.0)

    def _rows_beyond(self, candidate: Candidate, planned: Candidate, view: QueueView) -> int:
        """How many rows a variant more accurate than the ``planned`` one may run now; 0 where there is no time."""
        within_s = SPENT * self.time_share * view.slack_s
        batch_s = min(within_s, self.longest_s)
        rows = min(candidate.batch_rows(view.rows), bisect_right(candidate.latency_s, batch_s) - 1)
        if rows < max(view.first_rows, 1):  # a query is never divided
            return 0
        busy_s = candidate.busy_s[rows]
        waiting = ceil((view.rows - rows + view.load_qps * busy_s) / self._workers(view))
        return rows if busy_s + _cleared_s(planned, waiting) <= within_s else 0


def _cleared_s(candidate: Candidate, rows: int) -> float:
    """What one worker takes for so many rows."""
    batches, rest = divmod(rows, candidate.max_batch)
    return batches * candidate.busy_s[candidate.max_batch] + candidate.busy_s[rest]

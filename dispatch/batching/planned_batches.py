"""Batches of the size that a plan reckons with, and larger ones where more waits."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dispatch.selection.greedy import soonest
from dispatch.selection.policy import Choice, QueueView


@dataclass(frozen=True)
class PlannedBatches:
    """Takes all that waits with the most accurate variant for which that is in time, or as much of it as is.

    ``batch_rows`` are planned by variant: with a variant that is planned no smaller batch is formed than that, or than
    all that waits. A worker never waits for a batch to fill, and more rows than planned run together only where more
    wait, so that a stage that falls behind its plan catches up. Where no variant is in time with its planned batch, the
    fastest runs all that waits.
    """

    batch_rows: Mapping[str, int]
    name: ClassVar[str] = "planned_batches"

    def choose(self, view: QueueView) -> Choice:
        """The most accurate variant in time, else the fastest."""
        slack_s = view.slack_s
        for candidate in view.candidates:
            most = candidate.batch_rows(view.rows)
            in_time = min(most, bisect_right(candidate.latency_s, slack_s) - 1)
            if in_time >= min(most, self.batch_rows.get(candidate.variant, 1)):
                return Choice(candidate.variant, in_time)
        candidate = soonest(view)
        return Choice(candidate.variant, candidate.batch_rows(view.rows))

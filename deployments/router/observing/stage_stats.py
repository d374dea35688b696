"""What a router counts of the stages of a pipeline: totals since it started, and times of the last minute."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from deployments.router.observing.columns import Columns
from deployments.router.observing.percentiles import percentiles_ms
from dispatch.commands import StageRun

MAX_WINDOW_RUNS = 5_000
"""Of the last minute, the latest so many count."""


@dataclass
class StageStats:
    """Counters of one stage, query by query that was answered. ``jobs`` is more where queries are cut into several."""

    queries: int = 0
    jobs: int = 0
    variants: Counter[str] = field(default_factory=Counter)
    _recent: Columns = field(default_factory=lambda: Columns(4, MAX_WINDOW_RUNS))

    def on_run(self, run: StageRun) -> None:
        """A query that is answered ran the stage."""
        self.queries += 1
        self.jobs += run.jobs
        if run.variant:
            self.variants.update(run.variant.split(","))
        self._recent.append(run.done_s, run.done_s - run.began_s, run.launched_s - run.began_s, run.run_s)

    def snapshot(self, since_s: float) -> dict[str, Any]:
        """Totals, and since that instant the percentiles (ms) of the time in the stage, in its queue and of runs."""
        _, latency_s, queue_s, run_s = self._recent.since(since_s)
        return {
            "queries": self.queries,
            "jobs": self.jobs,
            "latency_ms": percentiles_ms(latency_s),
            "queue_ms": percentiles_ms(queue_s),
            "run_ms": percentiles_ms(run_s),
            "variants": dict(self.variants.most_common()),
        }

"""What a router counts of the stages of a pipeline: totals since it started, and times of the last minute."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from deployments.router.observing.percentiles import percentiles_ms
from dispatch.commands import StageRun

MAX_WINDOW_RUNS = 5_000
"""Of the last minute, the latest so many count."""


_Seen = tuple[float, float, float, float]
"""When a run was done, and the time in the stage, in its queue and of the run itself, all in seconds; a plain tuple, as
in `EndpointStats`."""


@dataclass
class StageStats:
    """Counters of one stage, query by query that was answered. ``jobs`` is more where queries are cut into several."""

    queries: int = 0
    jobs: int = 0
    variants: Counter[str] = field(default_factory=Counter)
    _recent: deque[_Seen] = field(default_factory=lambda: deque(maxlen=MAX_WINDOW_RUNS))

    def on_run(self, run: StageRun) -> None:
        """A query that is answered ran the stage."""
        self.queries += 1
        self.jobs += run.jobs
        if run.variant:
            self.variants.update(run.variant.split(","))
        self._recent.append((run.done_s, run.done_s - run.began_s, run.launched_s - run.began_s, run.run_s))

    def snapshot(self, since_s: float) -> dict[str, Any]:
        """Totals, and since that instant the percentiles (ms) of the time in the stage, in its queue and of runs."""
        while self._recent and self._recent[0][0] < since_s:
            self._recent.popleft()
        recent = list(self._recent)
        return {
            "queries": self.queries,
            "jobs": self.jobs,
            "latency_ms": percentiles_ms([latency_s for _, latency_s, _, _ in recent]),
            "queue_ms": percentiles_ms([queue_s for _, _, queue_s, _ in recent]),
            "run_ms": percentiles_ms([run_s for *_, run_s in recent]),
            "variants": dict(self.variants.most_common()),
        }

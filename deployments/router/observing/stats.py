"""What a router counts: totals since it started, and latencies and shares of the last minute."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from catalog.errors import AccordError
from deployments.router.observing.columns import Columns
from deployments.router.observing.metrics.latency_buckets import LatencyBuckets
from deployments.router.observing.percentiles import percentiles_ms
from deployments.router.observing.stage_stats import StageStats
from deployments.router.observing.totals import Totals
from dispatch.commands import Answer

WINDOW_S = 60.0
MAX_WINDOW_ANSWERS = 20_000
"""Of the last minute, the latest so many count: percentiles of more would hold up the router's event loop."""

JOIN = "\n"
"""Between the names of variants that voted: a string, as `Columns` wants it."""

FAILURES = ("VariantFailed", "AdapterFailed", "NoWorker", "WorkerLost", "PoisonQuery")
"""Errors that are the service's fault, whatever the load."""


@dataclass
class EndpointStats:
    """Counters of one endpoint. A violation is an answer after its deadline, or no answer at all.

    ``rejected`` counts by the error's type, ``codes`` by its reason code, or its type where it has none; ``cancelled``
    those whose client left.
    """

    arrived: int = 0
    answered: int = 0
    late: int = 0
    cancelled: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    variants: Counter[str] = field(default_factory=Counter)
    accuracy_sum: float = 0.0
    totals: Totals = field(default_factory=Totals)
    latencies: LatencyBuckets = field(default_factory=LatencyBuckets)
    stages: dict[str, StageStats] = field(default_factory=dict)
    _recent: Columns = field(default_factory=lambda: Columns(5, MAX_WINDOW_ANSWERS))

    def on_answer(self, answer: Answer) -> None:
        """A query got its result."""
        late = not answer.deadline_met
        transport_s = answer.done_s - answer.launched_s - answer.run_s
        self.answered += 1
        self.late += late
        variants = tuple(answer.votes) or (answer.variant,)
        self.variants.update(variants)
        for run in answer.stages:
            self.stages.setdefault(run.stage, StageStats()).on_run(run)
        self.accuracy_sum += answer.accuracy
        self.totals.on_answer(answer)
        self.latencies.add(answer.latency_s)
        self._recent.append(answer.done_s, answer.latency_s, JOIN.join(variants), answer.batch_rows, transport_s)

    def on_reject(self, error: AccordError, queries: int = 1) -> None:
        """Queries got this error."""
        self.rejected[type(error).__name__] += queries
        self.codes[error.code or type(error).__name__] += queries

    def snapshot(self, now_s: float) -> dict[str, Any]:
        """Totals, and of the last minute the latency percentiles (ms), the mean batch and the share per variant."""
        _, latency_s, names, rows, transport_s = self._recent.since(now_s - WINDOW_S)
        shares: Counter[str] = Counter()
        for variants, answers in Counter(names).items():
            shares.update(dict.fromkeys(variants.split(JOIN), answers))
        refused = sum(self.rejected.values())
        return {
            "arrived": self.arrived,
            "answered": self.answered,
            "late": self.late,
            "rejected": refused,
            "rejected_by_reason": dict(self.rejected),
            "rejected_by_code": dict(self.codes),
            "cancelled": self.cancelled,
            "failed": sum(self.rejected[name] for name in FAILURES),
            "violations": self.late + refused,
            "expected_accuracy": self.accuracy_sum / self.answered if self.answered else None,
            "window_s": WINDOW_S,
            "latency_ms": percentiles_ms(latency_s),
            "transport_ms": percentiles_ms(transport_s),
            "mean_batch_rows": sum(rows) / len(rows) if rows else None,
            "variants": {
                name: {"queries": count, "share": shares[name] / len(names) if names else 0.0}
                for name, count in self.variants.most_common()
            },
            "totals": self.totals.to_record(now_s),
            "stages": {name: stage.snapshot(now_s - WINDOW_S) for name, stage in self.stages.items()},
        }

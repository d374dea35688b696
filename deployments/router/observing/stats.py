"""What a router counts: totals since it started, and latencies and shares of the last minute."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from catalog.errors import AccordError
from deployments.router.observing.percentiles import percentiles_ms
from deployments.router.observing.stage_stats import StageStats
from deployments.router.observing.totals import Totals
from dispatch.commands import Answer

WINDOW_S = 60.0
MAX_WINDOW_ANSWERS = 20_000
"""Of the last minute, the latest so many count: percentiles of more would hold up the router's event loop."""


FAILURES = ("VariantFailed", "NoWorker", "WorkerLost", "PoisonQuery")
"""Errors that are the service's fault, whatever the load."""


_Seen = tuple[float, float, tuple[str, ...], float, int, float]
"""What is kept of an answer, neither inputs nor outputs: when it was done, its latency (s), the variants, its accuracy,
the rows of its batch, and its way to the worker and back (s).

Plain tuples of plain values: Python's garbage collector leaves them out of its looks at all objects.
"""


@dataclass
class EndpointStats:
    """Counters of one endpoint. A violation is an answer after its deadline, or no answer at all.

    ``rejected`` counts by the error's type, ``codes`` by its reason code; ``cancelled`` those whose client left.
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
    stages: dict[str, StageStats] = field(default_factory=dict)
    _recent: deque[_Seen] = field(default_factory=lambda: deque(maxlen=MAX_WINDOW_ANSWERS))

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
        self._recent.append(
            (answer.done_s, answer.latency_s, variants, answer.accuracy, answer.batch_rows, transport_s)
        )

    def on_reject(self, error: AccordError, queries: int = 1) -> None:
        """Queries got this error."""
        self.rejected[type(error).__name__] += queries
        if error.code:
            self.codes[error.code] += queries

    def snapshot(self, now_s: float) -> dict[str, Any]:
        """Totals, and of the last minute the latency percentiles (ms), the mean batch and the share per variant."""
        while self._recent and self._recent[0][0] < now_s - WINDOW_S:
            self._recent.popleft()
        recent = list(self._recent)
        shares = Counter(variant for _, _, variants, *_ in recent for variant in variants)
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
            "latency_ms": percentiles_ms([latency_s for _, latency_s, *_ in recent]),
            "transport_ms": percentiles_ms([transport_s for *_, transport_s in recent]),
            "mean_batch_rows": sum(rows for *_, rows, _ in recent) / len(recent) if recent else None,
            "variants": {
                name: {"queries": count, "share": shares[name] / len(recent) if recent else 0.0}
                for name, count in self.variants.most_common()
            },
            "totals": self.totals.to_record(now_s),
            "stages": {name: stage.snapshot(now_s - WINDOW_S) for name, stage in self.stages.items()},
        }

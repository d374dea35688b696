"""What all queries of an endpoint took together since its router began, as the statistics of the protocol have it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dispatch.commands import Answer, BatchDone

SUMMED = ("rows", "batches", "latency_s", "queue_s", "run_s")


@dataclass(slots=True)
class Totals:
    """Of queries that were answered, but for the batches, which are all that came back."""

    rows: int = 0
    latency_s: float = 0.0
    queue_s: float = 0.0
    run_s: float = 0.0  # of each query the whole batch that it was in
    last_done_s: float | None = None
    batch_counts: Counter[int] = field(default_factory=Counter)  # by rows
    batch_runs_s: dict[int, float] = field(default_factory=lambda: defaultdict(float))  # by rows

    def on_answer(self, answer: Answer) -> None:
        """A query got its result."""
        self.rows += answer.query.rows
        self.latency_s += answer.latency_s
        self.queue_s += answer.queue_s
        self.run_s += answer.run_s
        self.last_done_s = answer.done_s

    def on_batch(self, done: BatchDone) -> None:
        """A batch came back."""
        rows = done.batch.rows
        self.batch_counts[rows] += 1
        self.batch_runs_s[rows] += done.run_s

    def to_record(self, now_s: float) -> dict[str, Any]:
        """In JSON values; ``last_ago_s`` is None before the first answer."""
        return {
            "rows": self.rows,
            "batches": sum(self.batch_counts.values()),
            "latency_s": self.latency_s,
            "queue_s": self.queue_s,
            "run_s": self.run_s,
            "last_ago_s": None if self.last_done_s is None else now_s - self.last_done_s,
            "by_batch_rows": {
                str(rows): {"batches": count, "run_s": self.batch_runs_s[rows]}
                for rows, count in sorted(self.batch_counts.items())
            },
        }


def joint_totals(every: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Those of several routers."""
    rows = sorted({rows for each in every for rows in each["by_batch_rows"]}, key=int)
    ages_s = [each["last_ago_s"] for each in every if each["last_ago_s"] is not None]
    return {
        **{key: sum(each[key] for each in every) for key in SUMMED},
        "last_ago_s": min(ages_s, default=None),
        "by_batch_rows": {
            of: {
                key: sum(each["by_batch_rows"][of][key] for each in every if of in each["by_batch_rows"])
                for key in ("batches", "run_s")
            }
            for of in rows
        },
    }

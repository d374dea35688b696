"""What batches took together since the router began, by where they ran and what for."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from dispatch.commands import BatchDone


class BatchKind(NamedTuple):
    """Batches of one endpoint that one variant ran in one pool."""

    endpoint: str
    variant: str
    pool: str


@dataclass(slots=True)
class BatchTotal:
    """Of batches that came back: how many, their rows, and the seconds that workers ran them."""

    batches: int = 0
    rows: int = 0
    run_s: float = 0.0


class BatchTotals:
    """Sums by kind; they only grow."""

    def __init__(self) -> None:
        self.by_kind: dict[BatchKind, BatchTotal] = defaultdict(BatchTotal)

    def on_batch(self, done: BatchDone, pool: str) -> None:
        """A batch came back from a worker of this pool."""
        batch = done.batch
        total = self.by_kind[BatchKind(batch.endpoint, batch.variant, pool)]
        total.batches += 1
        total.rows += batch.rows
        total.run_s += done.run_s

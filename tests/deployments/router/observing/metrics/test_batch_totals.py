"""What is summed of batches, by endpoint, variant and pool."""

from deployments.router.observing.metrics.batch_totals import BatchKind, BatchTotal, BatchTotals
from dispatch.commands import BatchDone
from dispatch.query import Batch, StageKey


def batch(variant: str, rows: int, run_s: float) -> BatchDone:
    return BatchDone(Batch(1, "w", StageKey("digits", "read"), variant, 0.9, (), rows, 1.0), (), run_s, 2.0)


def test_batches_of_one_kind_add_up() -> None:
    totals = BatchTotals()
    totals.on_batch(batch("small", 3, 0.5), "cpu")
    totals.on_batch(batch("small", 1, 0.25), "cpu")
    totals.on_batch(batch("small", 8, 0.125), "gpu")
    totals.on_batch(batch("large", 2, 1.0), "cpu")
    assert totals.by_kind == {
        BatchKind("digits", "small", "cpu"): BatchTotal(2, 4, 0.75),
        BatchKind("digits", "small", "gpu"): BatchTotal(1, 8, 0.125),
        BatchKind("digits", "large", "cpu"): BatchTotal(1, 2, 1.0),
    }

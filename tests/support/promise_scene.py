"""Queries, status and cases of a made-up service, as the benchmark of the promise sees them."""

from collections.abc import Sequence
from typing import Any

from benchmarks.promise.cases.case import Case
from benchmarks.promise.cases.figures import Figures
from serve_app.loadgen.record import Record
from serve_app.testing.queries import Queries
from serve_app.testing.status_watch import Snapshot

ENDPOINT = "digits"
PER_SECOND = 100


def record(intended_s: float, *, late: bool = False, error: str | None = None, **changes: Any) -> Record:
    """A query that was answered after 20 ms, by the variant ``good``, with the right label."""
    answered = error is None
    fields = {
        "intended_s": intended_s,
        "sent_s": intended_s + 0.001,
        "done_s": intended_s + 0.02,
        "status": 200 if answered else 503,
        "variant": "good" if answered else None,
        "expected_accuracy": 0.9 if answered else None,
        "deadline_met": not late if answered else None,
        "correct": True if answered else None,
        "error_kind": error,
        "error": error,
    }
    return Record(**{**fields, **changes})


def violating(counts: Sequence[int], began_s: float = 0.0) -> Queries:
    """So many late queries of `PER_SECOND` in each second, the first ones of it."""
    rows = [
        record(second + number / PER_SECOND, late=number < count)
        for second, count in enumerate(counts)
        for number in range(PER_SECOND)
    ]
    return Queries.of(rows, began_s)


def snapshot(at_s: float, **guarantee: Any) -> Snapshot:
    """A status that says this of its guarantee, answered at once; the rest is that of a promise that is kept."""
    told = {
        "kept": "yes",
        "window_s": 10.0,
        "queries": 1000,
        "observed_violation_rate": 0.0,
        "promised_violation_rate": 0.01,
        "expected_accuracy": 0.85,
        "observed_accuracy": 0.9,
        "expected_violation_rate": 0.05,
        "predicted_violation_rate": 0.02,
        "predicted_accuracy": 0.88,
    }
    return Snapshot(at_s, at_s, {"endpoints": {ENDPOINT: {"guarantee": {**told, **guarantee}}}})


def figures(violations_pct: float | None, accuracy_pct: float | None = 90.0, **changes: Any) -> Figures:
    """Of 1,000 queries, all by one variant."""
    fields: dict[str, Any] = {
        "queries": 1000,
        "violations_server_pct": violations_pct,
        "violations_client_pct": violations_pct,
        "failed_pct": 0.0,
        "accuracy_pct": accuracy_pct,
        "variant_accuracy_pct": accuracy_pct,
        "share_pct": {"good": 100.0},
        "p50_ms": 20.0,
        "p99_ms": 40.0,
    }
    return Figures(**{**fields, **changes})


def case(
    policy: str,
    violations_pct: float | None,
    accuracy_pct: float = 90.0,
    *,
    condition: str = "as_is",
    share: float = 0.6,
    kept_again_s: float | None = 0.0,
) -> Case:
    """At so much of 1,000 queries per second."""
    seen = figures(violations_pct, accuracy_pct)
    return Case(
        condition,
        policy,
        share,
        load_qps=1000.0 * share,
        judged=seen,
        whole=seen,
        kept_again_s=kept_again_s,
        said_kept_again_s=None,
        generator_lag_p99_ms=1.0,
        machine_speed=1.0,
        times_played=1,
    )

"""Made-up answers and decisions of a service that adapts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from serve_app.loadgen.record import Record


def record(intended_s: float, latency_s: float, accuracy: float | None = 0.9, error: str | None = None) -> Record:
    """A query that left in time."""
    status = 503 if error else 200
    return Record(intended_s, intended_s, intended_s + latency_s, status, "v", accuracy, None, None, error, error)


def iso(at_s: float) -> str:
    """An instant as decisions have it."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")


def decision(
    version: int,
    asked_s: float,
    in_force_s: float | None,
    capacity_qps: Mapping[str, float],
    held: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """One decision, given up where ``in_force_s`` is None."""
    return {
        "version": version,
        "asked_at": iso(asked_s),
        "reason": "more came",
        "state": "given up" if in_force_s is None else "replaced",
        "in_force_at": None if in_force_s is None else iso(in_force_s),
        "in_force_s": None if in_force_s is None else in_force_s - asked_s,
        "demand_qps": dict(capacity_qps),
        "plan": {"capacity_qps": dict(capacity_qps), "held": dict(held or {})},
    }

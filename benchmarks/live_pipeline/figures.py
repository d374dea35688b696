"""From what came back of a load to what a pipeline's users saw of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.adaptation.plan_times import epoch_s, made_true
from benchmarks.live_pipeline.scene import Phases
from serve_app.testing.queries import Floats, Queries
from serve_app.testing.status_watch import Snapshot

PHASES = ("base", "doubled", "base_again")


def figures(
    queries: Queries,
    phases: Phases,
    begin_s: float,
    began_at_s: float,
    slo_ms: float,
    decisions: Sequence[Mapping[str, Any]],
    snapshots: Sequence[Snapshot],
) -> dict[str, Any]:
    """One round that began at ``begin_s`` of the monotonic clock, ``began_at_s`` of the wall's."""
    answered = ~queries.failed
    in_force = [
        each
        for each in made_true(decisions)
        if began_at_s <= epoch_s(each["in_force_at"]) <= began_at_s + phases.duration_s
    ]
    stages = [stages_of(each) for each in made_true(decisions)]
    changes = sum(
        before != after
        for each, before, after in zip(made_true(decisions)[1:], stages, stages[1:], strict=False)
        if each in in_force
    )
    return {
        "queries": len(queries),
        "lost_queries": int(queries.failed.sum()),
        "late_queries": int((answered & (queries.latency_ms > slo_ms)).sum()),
        "slo_ms": slo_ms,
        **quantiles(queries.latency_ms[answered]),
        "accuracy": _mean(queries.correct[answered]),
        "expected_accuracy": _mean(queries.accuracy[answered]),
        "plans_in_force": len(in_force),
        "plan_changes": changes,
        "phases": {
            name: _phase(queries, begin_s + number * phases.phase_s, phases.phase_s)
            for number, name in enumerate(PHASES)
        },
        "plans": [stages_of(each) for each in in_force],
        "refused_since_start": _refused(snapshots),
    }


def _refused(snapshots: Sequence[Snapshot]) -> dict[str, int]:
    """Why the service refused queries, by its last word, in sum since it started."""
    endpoints = snapshots[-1].status["endpoints"] if snapshots else {}
    return {reason: count for each in endpoints.values() for reason, count in each["rejected_by_reason"].items()}


def stages_of(decision: Mapping[str, Any]) -> dict[str, str]:
    """What runs each stage by a decision's plan: variants with their batches, and the number of workers."""
    found = {}
    for stages in decision["plan"].get("stages", {}).values():
        for stage, choice in stages.items():
            variants = ", ".join(f"{name} x{rows}" for name, rows in choice["variants"].items())
            found[stage] = f"{variants} on {choice['workers']}"
    return found


def quantiles(latency_ms: Floats) -> dict[str, float | None]:
    """Median and 99th percentile, None of nothing."""
    if not len(latency_ms):
        return {"p50_ms": None, "p99_ms": None}
    p50, p99 = np.percentile(latency_ms, [50, 99])
    return {"p50_ms": float(p50), "p99_ms": float(p99)}


def _phase(queries: Queries, start_s: float, length_s: float) -> dict[str, Any]:
    own = queries.intended_in([(start_s, start_s + length_s)])
    answered = ~own.failed
    return {
        "queries": len(own),
        "lost_queries": int(own.failed.sum()),
        **quantiles(own.latency_ms[answered]),
        "accuracy": _mean(own.correct[answered]),
    }


def _mean(values: Floats) -> float | None:
    return float(np.mean(values)) if len(values) else None

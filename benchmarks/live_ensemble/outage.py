"""From what came back of a load to what the loss of a member cost."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ensemble.statistics import interval
from benchmarks.live_ensemble.plan import Ensemble
from serve_app.testing.queries import Queries


def figures(ensemble: Ensemble, queries: Queries, victim: str, killed_s: float) -> dict[str, Any]:
    """What became of the queries; rows of the data set are sent in their order, again and again."""
    rows = np.arange(len(queries)) % len(ensemble.texts)
    answered = ~queries.failed
    voted = np.array([victim in variant.split("+") for variant in queries.variant.tolist()])
    right = queries.correct == 1.0
    back = answered & voted & (queries.intended_s > killed_s)
    recovered_s = float(queries.done_s[back].min() - killed_s) if back.any() else None
    until_s = np.inf if recovered_s is None else killed_s + recovered_s
    during = answered & ~voted & (queries.done_s > killed_s) & (queries.done_s <= until_s)
    whole = answered & ~during
    offline = ensemble.offline_right[rows]
    live = 100.0 * float(right[whole].mean()) if whole.any() else None
    within = interval(float(offline[whole].mean()), int(whole.sum())) if whole.any() else None
    return {
        "queries": len(queries),
        "failed_queries": int(queries.failed.sum()),
        "late_queries": int(queries.late.sum()),
        "victim": victim,
        "recovered_s": recovered_s,
        "during_outage": _part(right, offline, during),
        "otherwise": _part(right, offline, whole),
        "accuracy_loss_points": 100.0 * float(offline[during].mean() - right[during].mean()) if during.any() else None,
        "offline_accuracy": 100.0 * float(offline[whole].mean()) if whole.any() else None,
        "offline_ci95": None if within is None else list(within),
        "live_accuracy": live,
        "live_within_offline_interval": within is not None
        and live is not None
        and bool(within[0] <= live <= within[1]),
        "latency_ms": _latencies(queries, answered),
        "latency_during_outage_ms": _latencies(queries, during),
    }


def _part(right: NDArray[np.bool_], offline: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> dict[str, Any]:
    """Queries of a part, with the accuracy of all members' vote on the same texts beside the live one."""
    if not chosen.any():
        return {"queries": 0}
    return {
        "queries": int(chosen.sum()),
        "accuracy": 100.0 * float(right[chosen].mean()),
        "offline_accuracy_same_texts": 100.0 * float(offline[chosen].mean()),
    }


def _latencies(queries: Queries, chosen: NDArray[np.bool_]) -> dict[str, float] | None:
    if not chosen.any():
        return None
    p50, p95, worst = np.percentile(queries.latency_ms[chosen], [50, 95, 100])
    return {"p50": float(p50), "p95": float(p95), "max": float(worst)}

"""What routers say of themselves, one by one and together."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from deployments.router_stats import EndpointStats
from deployments.table_progress import TableProgress, TableState
from deployments.worker_messages import WorkerReport
from dispatch.dispatcher import Dispatcher
from dispatch.guarantee import GuaranteeMonitor

SUMMED = ("arrived", "answered", "late", "rejected", "failed", "violations", "queued", "anticipated_qps")
WORST = ("latency_ms", "transport_ms")

NO_TABLES = TableProgress(TableState.NONE, 0, 0)

SLOW = 1.3
"""A worker whose runs take more than so many times those of the median worker is called slow."""


def router_status(
    router: str,
    plan_version: int,
    dispatcher: Dispatcher,
    stats: Mapping[str, EndpointStats],
    guarantees: Mapping[str, GuaranteeMonitor],
    tables: Mapping[str, TableProgress],
    ready: Mapping[str, bool],
    reports: Mapping[str, WorkerReport],
    now_s: float,
) -> dict[str, Any]:
    """Endpoints and workers of one router as they are now; ``reports`` are of its workers, when they joined."""
    endpoints = {}
    for name, endpoint in dispatcher.plan.endpoints.items():
        accuracies = {c.variant: c.accuracy for offered in endpoint.candidates.values() for c in offered}
        snapshot = stats[name].snapshot(now_s)
        for variant, entry in snapshot["variants"].items():
            entry["expected_accuracy"] = accuracies.get(variant)
        endpoints[name] = {
            "slo_ms": endpoint.slo_s * 1e3,
            "selection": endpoint.selection.name,
            "ready": ready[name],
            "anticipated_qps": endpoint.load.load_qps(now_s),
            "guarantee": asdict(guarantees[name].guarantee(now_s)),
            "tables": tables.get(name, NO_TABLES)._asdict(),
            "feedback": _feedback(dispatcher, name),
            "queued": dispatcher.queued_rows(name),
            **snapshot,
        }
    workers = {}
    for worker, state in dispatcher.workers.items():
        report = reports[worker]
        workers[worker] = {
            "pool": report.pool,
            "device": report.device,
            "router": router,
            "state": "busy" if state.batch else "idle",
            "queued": state.load.queued_rows,
            "loaded": sorted(state.variants),
            "failed": report.failed,
            "memory_bytes": report.memory_bytes,
            "latency": _latency(dispatcher, worker),
        }
    return {"routers": [router], "plan_version": plan_version, "endpoints": endpoints, "workers": workers}


def _feedback(dispatcher: Dispatcher, endpoint: str) -> dict[str, Any]:
    feedback = dispatcher.feedback(endpoint)
    return {
        "slack_factor": 1.0 if feedback is None else feedback.share,
        "reason": None if feedback is None else feedback.reason,
    }


def _latency(dispatcher: Dispatcher, worker: str) -> dict[str, Any] | None:
    """What batches take on a worker, against their profiles; None where that is not measured."""
    if dispatcher.learning is None:
        return None
    known, typical = dispatcher.learning.latency.estimate(worker), dispatcher.learning.latency.typical()
    return {
        "run_factor": known.run_factor,
        "run_factors": dict(known.run_factors),
        "run_tail": known.run_tail,
        "path_ms": known.path_s * 1e3,
        "path_p99_ms": known.path_tail_s * 1e3,
        "slow": known.run_factor > SLOW * typical.run_factor,
    }


def together(statuses: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Several routers' statuses as one: counts are summed, latencies those of the worst, guarantees of the first."""
    first, *others = statuses
    endpoints = {}
    for name, own in first["endpoints"].items():
        every = [own, *(other["endpoints"][name] for other in others if name in other["endpoints"])]
        answered = sum(each["answered"] for each in every)
        accuracies = [each["expected_accuracy"] * each["answered"] for each in every if each["answered"]]
        endpoints[name] = {
            **own,
            **{key: sum(each[key] for each in every) for key in SUMMED},
            **{key: _worst([each[key] for each in every]) for key in WORST},
            "ready": any(each["ready"] for each in every),
            "rejected_by_reason": dict(sum((Counter(each["rejected_by_reason"]) for each in every), Counter())),
            "expected_accuracy": sum(accuracies) / answered if answered else None,
            "variants": _variants([each["variants"] for each in every]),
        }
    return {
        "routers": [router for each in (first, *others) for router in each["routers"]],
        "plan_version": max(each["plan_version"] for each in (first, *others)),
        "endpoints": endpoints,
        "workers": {worker: state for each in (first, *others) for worker, state in each["workers"].items()},
    }


def _worst(quantiles: list[dict[str, float] | None]) -> dict[str, float] | None:
    known = [each for each in quantiles if each is not None]
    return {name: max(each[name] for each in known) for name in known[0]} if known else None


def _variants(of_routers: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares are of the last minute, weighted by what each router answered in all."""
    queries = sum((Counter({v: entry["queries"] for v, entry in each.items()}) for each in of_routers), Counter())
    recent: Counter[str] = Counter()
    for each in of_routers:
        answered = sum(entry["queries"] for entry in each.values())
        recent.update({variant: entry["share"] * answered for variant, entry in each.items()})
    total = sum(recent.values())
    accuracies = {v: entry["expected_accuracy"] for each in of_routers for v, entry in each.items()}
    return {
        variant: {
            "queries": count,
            "share": recent[variant] / total if total else 0.0,
            "expected_accuracy": accuracies[variant],
        }
        for variant, count in queries.most_common()
    }

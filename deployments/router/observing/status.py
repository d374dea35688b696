"""What a router says of itself."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from deployments.messages.worker import WorkerReport
from deployments.router.feedback.labels import Labels
from deployments.router.live_accuracy.status import shadow_status
from deployments.router.observing.query_observer import QueryObserver
from deployments.router.observing.stage_stats import StageStats
from deployments.router.observing.worker_events import WorkerEvents
from deployments.router.tables.progress import TableProgress, TableState
from dispatch.dispatcher import Dispatcher
from dispatch.flow.pipeline import PipelineFlow

NO_TABLES = TableProgress(TableState.NONE, 0, 0)

SLOW = 1.3
"""A worker whose runs take more than so many times those of the median worker is called slow."""


def router_status(
    router: str,
    plan_version: int,
    dispatcher: Dispatcher,
    observer: QueryObserver,
    tables: Mapping[str, TableProgress],
    ready: Mapping[str, bool],
    labels: Labels | None,
    reports: Mapping[str, WorkerReport],
    events: WorkerEvents,
    now_s: float,
) -> dict[str, Any]:
    """Endpoints and workers of one router as they are now; ``reports`` are of its workers, when they joined.

    ``events`` are what befell them since.
    """
    endpoints = {}
    for name, endpoint in dispatcher.plan.endpoints.items():
        accuracies = {c.variant: c.accuracy for offered in endpoint.candidates.values() for c in offered}
        snapshot = observer.stats[name].snapshot(now_s)
        for variant, entry in snapshot["variants"].items():
            entry["expected_accuracy"] = accuracies.get(variant)
        endpoints[name] = {
            "slo_ms": endpoint.slo_s * 1e3,
            "selection": endpoint.selection,
            "ready": ready[name],
            "anticipated_qps": endpoint.load_qps(now_s),
            "guarantee": asdict(observer.guarantees[name].guarantee(now_s)),
            "tables": tables.get(name, NO_TABLES)._asdict(),
            "feedback": _feedback(dispatcher, name),
            "ground_truth": None if labels is None else labels.status(name),
            "shadow": shadow_status(dispatcher.shadows.by_endpoint.get(name)),
            "queued": dispatcher.queues.rows(name),
            **snapshot,
            "stages": _stages(dispatcher, name, snapshot["stages"]),
        }
    workers = {}
    for worker, state in dispatcher.workers.items():
        report = reports[worker]
        workers[worker] = {
            "pool": state.info.pool,
            "device": state.info.device,
            "node": state.info.node,
            "pid": report.pid,
            "router": router,
            "state": "busy" if state.under_way else "idle",
            "queued": state.load.queued_rows,
            "loaded": sorted(state.variants),
            "failed": report.failed,
            "memory_bytes": report.memory_bytes,
            "latency": _latency(dispatcher, worker),
            "machine": state.info.machine,
            "slowdowns": {variant: each.to_record() for variant, each in observer.meter.slowdowns.of(worker).items()},
        }
    return {
        "routers": [router],
        "plan_version": plan_version,
        "endpoints": endpoints,
        "workers": workers,
        "worker_events": events.to_record(now_s),
    }


def _stages(dispatcher: Dispatcher, endpoint: str, seen: Mapping[str, Any]) -> dict[str, Any]:
    """The stages of a pipeline: what waits for each, who serves it, and what was seen of it; empty of others."""
    if dispatcher.plan.endpoints[endpoint].flow.name != PipelineFlow.name:
        return {}
    stages = dispatcher.queues.by_name[endpoint].stages
    return {
        name: {
            "queued": sum(lane.queue.rows for lane in stage.distinct_lanes()),
            "workers": len(stage.workers),
            **(seen.get(name) or StageStats().snapshot(0.0)),
        }
        for name, stage in stages.items()
    }


def _feedback(dispatcher: Dispatcher, endpoint: str) -> dict[str, Any]:
    feedback = dispatcher.queues.feedback(endpoint)
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
        "path_tail_ms": known.path_tail_s * 1e3,
        "lead": known.lead,
        "all_ahead": dispatcher.learning.latency.all_ahead,
        "slow": known.run_factor > SLOW * typical.run_factor,
    }

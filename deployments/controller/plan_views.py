"""What people see of the controller."""

from collections.abc import Mapping
from typing import Any

from catalog.profiles.profile import LatencyProfile
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control_settings import ControlSettings
from deployments.state.saved_state import ControllerState

NOTEWORTHY = 0.5
"""Batches in worth from which a correction is shown."""


def plan_view(
    settings: ControlSettings,
    known: ControllerState,
    sizes: dict[str, int],
    worker_registry: WorkerRegistry,
    now_s: float,
) -> dict[str, Any]:
    """The plan in force, the one under way, pools, corrections and what cannot be loaded, in JSON values."""
    in_force, under_way = known.decisions.in_force, known.decisions.under_way
    pools_of = [report.info.pool for report in worker_registry.reports.values()]
    return {
        "version": 0 if in_force is None else in_force.version,
        "planner": settings.planner,
        "decision": None if in_force is None else in_force.to_record(),
        "under_way": None if under_way is None else under_way.to_record(),
        "pools": {
            name: {
                "device": pool.device,
                "workers": pools_of.count(name),
                "wanted": sizes[name],
                "least": pool.bounds.least,
                "most": pool.bounds.most,
                "price_per_h": pool.price_per_h,
            }
            for name, pool in settings.pools.items()
        },
        "corrections": [
            {
                "pool": pool,
                "variant": variant,
                "factor": known.runs.factor(key, now_s),
                "batches": batches,
                "workers": known.runs.of_workers(key, now_s),
            }
            for key in known.book.profiled_s
            for pool, variant in [key]
            if (batches := known.runs.evidence(key, now_s)) >= NOTEWORTHY
        ],
        "interference": _interference(settings, known, now_s),
        "transport_ms": {
            pool: 1e3 * reckoned_s * known.transport.factor(pool, now_s)
            for pool, reckoned_s in known.book.transport_s.items()
        },
        "accuracies": _accuracies(known),
        "slo_ms": {name: 1e3 * endpoint.limits.slo_s for name, endpoint in settings.endpoints.items()},
        "unloadable": known.unloadable.to_record(now_s),
    }


def _accuracies(known: ControllerState) -> dict[str, dict[str, Any]]:
    """By variant its accuracy and where that comes from."""
    variants = (known.book.variant(name) for name in known.book.names)
    return {each.name: {"task": each.task, "accuracy": each.accuracy, **each.origin.to_record()} for each in variants}


def _interference(settings: ControlSettings, known: ControllerState, now_s: float) -> dict[str, Any] | None:
    """The model of slowdowns and what measurements correct it with, None where there is no model."""
    if settings.interference is None:
        return None
    corrections = [each._asdict() for each in known.slowdowns.known(now_s) if each.batches >= NOTEWORTHY]
    return {"model": settings.interference.name, "corrections": corrections}


def registered_view(variant: str, profiles: Mapping[str, LatencyProfile]) -> dict[str, Any]:
    """What was measured of a new variant, by pool, in JSON values."""
    return {
        "variant": variant,
        "profiles": {
            pool: {"batch_sizes": list(p.batch_sizes), "p95_ms": [p.latency_ms(rows) for rows in p.batch_sizes]}
            for pool, p in profiles.items()
        },
    }

"""New variants on a running service: each is profiled where it is to serve, beside the queries."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from math import inf
from typing import Any

from pydantic import TypeAdapter, ValidationError

from autoscaler.cluster.plan import ClusterPlan
from catalog.errors import BadRequest, NameInUse, NoWorker
from catalog.faults import describe
from catalog.profiles.profile import LatencyProfile
from catalog.variant import Variant
from deployments.controller.variants.variant_book import tabulated_s
from deployments.controller.variants.variant_bytes import artifact_bytes, size_unknown
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control_settings import ControlSettings
from deployments.state.saved_state import ControllerState
from deployments.worker.client import WorkerGone

BUDGET_S = 3.0
"""Time that one variant is measured for, on each pool."""

MOST_NAMED = 5
"""Workers in a message."""

_VARIANT = TypeAdapter(Variant)


def as_variant(described: Mapping[str, Any]) -> Variant:
    """A variant written as in a catalogue; raises `BadRequest` that says what is wrong with it."""
    try:
        return _VARIANT.validate_python(dict(described))
    except ValidationError as error:
        raise BadRequest(f"the variant is not right: {describe(error, Variant)}") from error


async def profile_everywhere(
    variant: Variant,
    settings: ControlSettings,
    known: ControllerState,
    worker_registry: WorkerRegistry,
    plan: ClusterPlan,
) -> dict[str, LatencyProfile]:
    """Profile a variant on the least busy worker of every pool that may serve it, and enter it in the book.

    Its runs take turns with the queries' batches. Raises `ConfigError` or `BadRequest` where it cannot stand beside
    the others or nobody would be served by it, `NameInUse` while workers hold a variant of its name that serves
    no more, `ArtifactError` where it cannot be fetched, `NoWorker` where no worker can measure it.
    """
    book = known.book
    book.check(variant)
    _check_let_go(variant.name, known, worker_registry)
    endpoints = [each for each in settings.endpoints.values() if each.takes(variant.task, variant.name)]
    if not endpoints:
        stages = (stage for endpoint in settings.endpoints.values() for stage in endpoint.stages.values())
        tasks = ", ".join(sorted({stage.task for stage in stages}))
        raise BadRequest(
            f"variant {variant.name!r} does task {variant.task!r}, and no endpoint here would be served by it; the "
            f"endpoints' tasks are {tasks}, and an endpoint whose config lists its variants takes no others"
        )
    pools = _holding(variant.name, settings, dict.fromkeys(pool for each in endpoints for pool in each.pools))
    fitting = book.fits(variant, pools)
    able = [settings.pools[pool] for pool in pools]
    on_gpu = any(pool.device.startswith("cuda") and pool.memory_bytes < inf for pool in able)
    size_bytes = await asyncio.to_thread(
        partial(artifact_bytes, variant, settings.artifact_root, settings.artifact_rules, on_gpu=on_gpu)
    )
    if size_bytes is None and any(pool.memory_bytes < inf for pool in settings.pools.values()):
        raise size_unknown(variant)
    measured = await asyncio.gather(*(_measured(each, pool, worker_registry, plan) for pool, each in fitting.items()))
    profiles = {pool: profile for pool, profile in zip(fitting, measured, strict=True) if profile is not None}
    if not profiles:
        raise NoWorker(f"no worker of pool {', '.join(pools)} is there to measure {variant.name!r} on; try again")
    _check_let_go(variant.name, known, worker_registry)  # a load of before may have ended while it was measured
    book.add(variant, {pool: tabulated_s(variant, profile) for pool, profile in profiles.items()}, size_bytes or 0)
    return profiles


def _holding(name: str, settings: ControlSettings, pools: Iterable[str]) -> list[str]:
    """Those of the pools that may hold a variant of that name; raises `BadRequest` where none may."""
    asked = tuple(pools)
    found = [pool for pool in asked if settings.pools[pool].may_hold(name)]
    if not found:
        raise BadRequest(
            f"no pool may hold variant {name!r}: {', '.join(f'pools.{pool}.variants' for pool in asked)} list others; "
            "add it to one of them"
        )
    return found


def _check_let_go(name: str, known: ControllerState, worker_registry: WorkerRegistry) -> None:
    """Raise `NameInUse` while workers hold a variant of that name that does not serve any more.

    Workers are told of variants by name: they would not load the new model, and answer with the one of before. It may
    have been withdrawn under another controller, so that what the book knows of it does not count. A variant that is
    only measured is held by no worker.
    """
    if name in known.book.names:
        return
    if holding := sorted(worker for worker, held in worker_registry.loaded().items() if name in held):
        named = ", ".join(holding[:MOST_NAMED]) + (
            f" and {more} more" if (more := len(holding) - MOST_NAMED) > 0 else ""
        )
        raise NameInUse(
            f"workers still hold the {name!r} of before ({named}), and let go of it with the next plan; try again in a "
            "moment, or use another name"
        )


async def _measured(
    variant: Variant, pool: str, worker_registry: WorkerRegistry, plan: ClusterPlan
) -> LatencyProfile | None:
    """On the worker with the least to do by the plan; None where the pool has no worker."""
    workers = [worker for worker, report in worker_registry.reports.items() if report.info.pool == pool]
    if not workers:
        return None
    load_qps = {
        worker: sum(own.get(worker, 0.0) * plan.demand_qps.get(name, 0.0) for name, own in plan.shares.items())
        for worker in workers
    }
    idlest = min(sorted(workers), key=load_qps.__getitem__)
    try:
        return await worker_registry.profile(idlest, variant, BUDGET_S)
    except WorkerGone as error:
        raise NoWorker(f"worker {idlest} of pool {pool} went while it measured {variant.name!r}; try again") from error

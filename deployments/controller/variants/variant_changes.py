"""Variants come to a running service and leave it, as people ask for it."""

from collections.abc import Mapping
from typing import Any

from autoscaler.cluster.plan import ClusterPlan
from catalog.errors import ArtifactError, BadRequest, ConfigError
from deployments.controller.plan_views import registered_view
from deployments.controller.variants.registration import as_variant, profile_everywhere
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control_settings import ControlSettings
from deployments.state.saved_state import ControllerState


async def register(
    described: Mapping[str, Any],
    settings: ControlSettings,
    known: ControllerState,
    registry: WorkerRegistry,
    plan: ClusterPlan,
) -> dict[str, Any]:
    """See `profile_everywhere`; gives the variant's name and profiles in JSON values.

    What would stop a start is a client's mistake here: raises `BadRequest`, or `NoWorker`.
    """
    variant = as_variant(described)
    try:
        profiles = await profile_everywhere(variant, settings, known, registry, plan)
    except (ConfigError, ArtifactError) as error:
        raise BadRequest(str(error)) from error
    known.unloadable.forget(variant.name)
    return registered_view(variant.name, profiles)


def unregister(variant: str, known: ControllerState) -> dict[str, Any]:
    """See `VariantBook.withdraw`; raises `BadRequest`."""
    try:
        known.book.withdraw(variant)
    except ConfigError as error:
        raise BadRequest(str(error)) from error
    return {"variant": variant}


def take_back(variant: str, known: ControllerState) -> bool:
    """See `VariantBook.take_back`; gives whether there is anything to plan anew for. Raises `BadRequest`."""
    serves = variant in known.book.names
    try:
        known.book.take_back(variant)
    except ConfigError as error:
        raise BadRequest(str(error)) from error
    return known.unloadable.forget(variant) or not serves

"""From a config to what is deployed: the plan, what clients may know, and what every worker loads."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.profile import LatencyProfile
from catalog.profile_cache import cache_dir
from catalog.variant import Variant
from deployments.worker_messages import WorkerSpec
from dispatch.balancing.registry import create_balancer
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.policy import Candidate
from dispatch.selection.registry import create_selection
from serve_app.endpoint_info import EndpointInfo
from serve_app.schema import AppConfig, EndpointConfig

Profiles = Mapping[str, Mapping[str, LatencyProfile]]
"""Device type to variant name to profile."""


@dataclass(frozen=True)
class Assembly:
    """What `serve_app.main` deploys."""

    plan: Plan
    endpoints: dict[str, EndpointInfo]
    workers: dict[str, WorkerSpec]


def served_variants(config: AppConfig, catalogue: Catalogue) -> tuple[Variant, ...]:
    """Every variant that some endpoint may use, in the order of the catalogue; raises `ConfigError`."""
    used = {v.name for name, endpoint in config.endpoints.items() for v in _variants_of(name, endpoint, catalogue)}
    return tuple(variant for variant in catalogue.variants if variant.name in used)


def assemble(config: AppConfig, catalogue: Catalogue, profiles: Profiles) -> Assembly:
    """Check the config against the catalogue and the profiles, and derive all that is deployed.

    Raises `ConfigError` naming the field, the value and the remedy.
    """
    plans, infos = {}, {}
    for name, endpoint in config.endpoints.items():
        variants = _variants_of(name, endpoint, catalogue)
        try:
            selection = create_selection(
                endpoint.selection.policy, endpoint.selection.variant, [v.name for v in variants]
            )
        except ConfigError as error:
            raise ConfigError(f"endpoints.{name}.selection: {error}") from error
        candidates = {
            device: tuple(_candidate(variant, device, measured, config.transport_ms) for variant in variants)
            for device, measured in profiles.items()
        }
        plans[name] = EndpointPlan(
            name,
            endpoint.slo_ms / 1e3,
            endpoint.drop_late,
            endpoint.max_queued_rows,
            candidates,
            selection,
            create_balancer(endpoint.balancing),
        )
        infos[name] = EndpointInfo(
            name,
            endpoint.task,
            endpoint.slo_ms / 1e3,
            variants[0].inputs,
            variants[0].outputs,
            variants[0].labels,
            min(endpoint.max_queued_rows, *(variant.max_batch for variant in variants)),
            tuple(variant.name for variant in variants),
        )
    served = served_variants(config, catalogue)
    workers = {
        pool: WorkerSpec(pool, spec.device, spec.threads, served, catalogue.root, str(cache_dir()))
        for pool, spec in config.pools.items()
    }
    return Assembly(Plan(1, plans), infos, workers)


def resolve_paths(config: AppConfig, base: Path) -> AppConfig:
    """The config with its catalogue and profile paths taken relative to ``base``, the folder it is run from."""
    catalogue = config.catalogue if config.catalogue == "builtin" else str(base / config.catalogue)
    profiles = {device: str(base / path) for device, path in config.profiles.items()}
    return config.model_copy(update={"catalogue": catalogue, "profiles": profiles})


def _variants_of(name: str, endpoint: EndpointConfig, catalogue: Catalogue) -> tuple[Variant, ...]:
    try:
        variants = catalogue.of_task(endpoint.task)
    except ConfigError as error:
        raise ConfigError(f"endpoints.{name}.task: {error}") from error
    if endpoint.variants is None:
        return variants
    known = {variant.name for variant in variants}
    for wanted in endpoint.variants:
        if wanted not in known:
            raise ConfigError(
                f"endpoints.{name}.variants: {wanted!r} does not do task {endpoint.task!r}; "
                f"its variants are {', '.join(sorted(known))}"
            )
    chosen = tuple(variant for variant in variants if variant.name in endpoint.variants)
    if not chosen:
        raise ConfigError(f"endpoints.{name}.variants is empty; name at least one of {', '.join(sorted(known))}")
    return chosen


def _candidate(variant: Variant, device: str, measured: Mapping[str, LatencyProfile], transport_ms: float) -> Candidate:
    profile = measured.get(variant.name)
    if profile is None:
        raise ConfigError(
            f"profiles.{device} has no variant {variant.name!r}; measure it with `accord profile` or remove the file "
            "to have everything measured on this machine"
        )
    return Candidate.of(variant, profile, transport_ms / 1e3)

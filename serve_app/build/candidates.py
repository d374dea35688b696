"""Which variants may serve an endpoint or a stage of it, and what they take there."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile import LatencyProfile
from catalog.variant import STACKED, Variant
from dispatch.query import ONLY_STAGE
from dispatch.selection.policy import Candidate
from serve_app.config.endpoints.endpoint import EndpointConfig
from serve_app.config.pool import PoolConfig
from serve_app.config.schema import AppConfig

Profiles = Mapping[str, Mapping[str, LatencyProfile]]
"""Device type to variant name to profile."""


def served_variants(config: AppConfig, catalogue: Catalogue) -> tuple[Variant, ...]:
    """Every variant that some endpoint may use, in the order of the catalogue; raises `ConfigError`."""
    used = {v.name for name, endpoint in config.endpoints.items() for v in variants_of(name, endpoint, catalogue)}
    return tuple(variant for variant in catalogue.variants if variant.name in used)


def variants_of(name: str, endpoint: EndpointConfig, catalogue: Catalogue) -> tuple[Variant, ...]:
    """The variants that may serve an endpoint, its stacked ensembles among them; raises `ConfigError`."""
    if endpoint.pipeline is not None:
        of_stages = stage_variants(name, endpoint, catalogue).values()
        return tuple({variant.name: variant for own in of_stages for variant in own}.values())
    variants = _of_task(f"endpoints.{name}", endpoint.task, catalogue)
    stacked = stacked_names(endpoint)
    variants = tuple(v for v in variants if v.runtime != STACKED or v.name in stacked)
    return _kept(f"endpoints.{name}", endpoint.task, variants, endpoint.variants, stacked)


def stacked_names(endpoint: EndpointConfig) -> frozenset[str]:
    """Names of the stacked ensembles that an endpoint declares; they serve it beside the variants that it lists."""
    sets = () if endpoint.stacked is None else endpoint.stacked.sets
    return frozenset("+".join(members) for members in sets)


def stage_variants(name: str, endpoint: EndpointConfig, catalogue: Catalogue) -> dict[str, tuple[Variant, ...]]:
    """By stage the variants that may run it; raises `ConfigError`."""
    if endpoint.pipeline is None:
        return {ONLY_STAGE: variants_of(name, endpoint, catalogue)}
    found = {}
    for stage, config in endpoint.pipeline.stages.items():
        where = f"endpoints.{name}.pipeline.stages.{stage}"
        variants = tuple(v for v in _of_task(where, config.task, catalogue) if v.runtime != STACKED)
        found[stage] = _kept(where, config.task, variants, config.variants)
    return found


def candidates_of(
    name: str, config: AppConfig, catalogue: Catalogue, profiles: Profiles
) -> dict[str, tuple[Candidate, ...]]:
    """Device to the variants that may serve an endpoint there, for devices whose pools may hold any.

    Raises `ConfigError` for a variant that a pool of a device may hold and that has no profile of it.
    """
    return _candidates(name, variants_of(name, config.endpoints[name], catalogue), config, profiles)


def stage_candidates(
    name: str, config: AppConfig, catalogue: Catalogue, profiles: Profiles
) -> dict[str, dict[str, tuple[Candidate, ...]]]:
    """The same by stage."""
    of_stages = stage_variants(name, config.endpoints[name], catalogue)
    return {stage: _candidates(name, variants, config, profiles) for stage, variants in of_stages.items()}


def _candidates(
    name: str, variants: Sequence[Variant], config: AppConfig, profiles: Profiles
) -> dict[str, tuple[Candidate, ...]]:
    found: dict[str, dict[str, PoolConfig]] = {}
    for pool_name, pool in config.pools_of(name).items():
        found.setdefault(pool.device, {})[pool_name] = pool
    held = {
        device: tuple(
            _candidate(within_pools(variant, pools), device, profiles[device], config)
            for variant in variants
            if any(pool.may_hold(variant.name) for pool in pools.values())
        )
        for device, pools in found.items()
    }
    return {device: own for device, own in held.items() if own}


def pools_of_variants(config: AppConfig, catalogue: Catalogue) -> dict[str, dict[str, PoolConfig]]:
    """By variant the pools that may run it for some endpoint; raises `ConfigError`."""
    found: dict[str, dict[str, PoolConfig]] = {}
    for name, endpoint in config.endpoints.items():
        for variant in variants_of(name, endpoint, catalogue):
            own = found.setdefault(variant.name, {})
            own |= {pool: each for pool, each in config.pools_of(name).items() if each.may_hold(variant.name)}
    return found


def held_by_none(variants: Sequence[Variant], pools: Iterable[PoolConfig]) -> tuple[str, ...]:
    """Names of the variants that none of these pools may hold."""
    every = tuple(pools)
    return tuple(each.name for each in variants if not any(pool.may_hold(each.name) for pool in every))


def within_some_pool(variant: Variant, pools: Mapping[str, PoolConfig]) -> Variant:
    """The variant with batches that fit the memory of one of these pools; raises `ConfigError`."""
    of_each = [within_pools(variant, {name: pool}) for name, pool in pools.items()]
    return max(of_each, key=lambda each: each.max_batch, default=variant)


def within_pools(variant: Variant, pools: Mapping[str, PoolConfig]) -> Variant:
    """The variant with batches that fit the memory of all of these pools that may hold it; raises `ConfigError`."""
    for name, pool in pools.items():
        if pool.batch_bytes is not None and pool.may_hold(variant.name):
            try:
                variant = variant.within(pool.batch_bytes)
            except ConfigError as error:
                raise ConfigError(
                    f"pools.{name}.batch_bytes: {error}; raise it, or name the pool's variants without this one"
                ) from error
    return variant


def _of_task(where: str, task: str, catalogue: Catalogue) -> tuple[Variant, ...]:
    try:
        return catalogue.of_task(task)
    except ConfigError as error:
        raise ConfigError(f"{where}.task: {error}") from error


def _kept(
    where: str,
    task: str,
    variants: tuple[Variant, ...],
    wanted: tuple[str, ...] | None,
    always: Collection[str] = (),
) -> tuple[Variant, ...]:
    """Those that a config names, and those that are there always."""
    if wanted is None:
        return variants
    known = {variant.name for variant in variants}
    for name in wanted:
        if name not in known:
            raise ConfigError(
                f"{where}.variants: {name!r} does not do task {task!r}; its variants are {', '.join(sorted(known))}"
            )
    chosen = tuple(v for v in variants if v.name in wanted or v.name in always)
    if not chosen:
        raise ConfigError(f"{where}.variants is empty; name at least one of {', '.join(sorted(known))}")
    return chosen


def _candidate(variant: Variant, device: str, measured: Mapping[str, LatencyProfile], config: AppConfig) -> Candidate:
    profile = measured.get(variant.name)
    if profile is not None:
        return Candidate.of(variant, profile, config.transport_ms / 1e3)
    kind, dash, _ = device.partition("-")
    if variant.runtime == STACKED:  # no catalogue has it, so that `accord profile` does not know it
        remedy = f"add rows of that name to {config.profiles.get(device, 'the file')}"
    else:
        remedy = f"measure it with `accord profile --catalogue {config.catalogue} --device {kind} --output FILE.csv`"
    if not dash:  # a named type of device is measured where it is, never at the start
        remedy += f", or leave profiles.{device} out to have everything measured on this machine"
    raise ConfigError(f"profiles.{device} has no variant {variant.name!r}; {remedy}")

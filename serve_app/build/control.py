"""What the controller has to know of a config, and what a config may change while the controller runs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import cast

from autoscaler.loop.sizing import Bounds
from autoscaler.planners.ipa.problem import Accuracy, IpaOptions
from autoscaler.planners.proteus.options import Accuracy as ProteusAccuracy
from autoscaler.planners.proteus.options import Overload, ProteusOptions
from autoscaler.planners.registry import PLANNERS, planner_kind
from catalog.artifacts.rules import ArtifactRules
from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.variant import Variant
from deployments.controller.variants.variant_book import tabulated_s
from deployments.controller.variants.variant_bytes import artifact_bytes, size_unknown
from deployments.messages.control_settings import (
    ControlSettings,
    EndpointSettings,
    ForecastSettings,
    PoolSettings,
    StageSettings,
)
from dispatch.query import ONLY_STAGE
from dispatch.selection.registry import WAITING
from forecast.model_file import read
from serve_app.build.candidates import (
    Profiles,
    pools_of_variants,
    served_variants,
    stacked_names,
    variants_of,
    within_pools,
)
from serve_app.build.endpoints.pipelines import WiredPipeline, measured_accuracy, wired_pipeline
from serve_app.config.endpoints.endpoint import EndpointConfig
from serve_app.config.live_changes import LiveChanges, PoolChange
from serve_app.config.planning.forecast import ForecastConfig
from serve_app.config.planning.ipa import IpaConfig
from serve_app.config.planning.proteus import ProteusConfig
from serve_app.config.pool import PoolConfig
from serve_app.config.schema import AppConfig


def control_settings(config: AppConfig, catalogue: Catalogue, profiles: Profiles) -> ControlSettings:
    """The settings of a config; fetches artifacts, to know their sizes. Raises `ConfigError` or `ArtifactError`."""
    variants, serving = served_variants(config, catalogue), pools_of_variants(config, catalogue)
    wired = {
        name: wired_pipeline(name, config, catalogue)
        for name, endpoint in config.endpoints.items()
        if endpoint.pipeline is not None
    }
    stacked = frozenset(each for endpoint in config.endpoints.values() for each in stacked_names(endpoint))
    limited = any(pool.memory_bytes is not None for pool in config.pools.values())
    rules = config.artifacts.rules
    sized = limited or config.controller.kind.assigns
    return ControlSettings(
        planner=config.controller.planner,
        interval_s=config.controller.interval_s,
        state=config.controller.state or "",
        endpoints={
            name: EndpointSettings(
                stages=_stages(name, endpoint, catalogue, wired.get(name), stacked),
                limits=endpoint.limits,
                pools=tuple(config.pools_of(name)),
                by_tables=endpoint.policy == "ramsis",
                launches_ahead=endpoint.policy not in WAITING,
                measured_accuracy=measured_accuracy(name, endpoint, catalogue, wired[name]) if name in wired else {},
            )
            for name, endpoint in config.endpoints.items()
        },
        pools={name: _pool(pool) for name, pool in config.pools.items()},
        variants=variants,
        profiled_s={
            (pool_name, variant.name): tabulated_s(
                within_pools(variant, {pool_name: pool}), profiles[pool.device][variant.name]
            )
            for variant in variants
            for pool_name, pool in serving[variant.name].items()
            if variant.name in profiles[pool.device]
        },
        memory_bytes=_sizes(variants, serving, catalogue.root, rules, limited=limited) if sized else {},
        transport_s=config.transport_ms / 1e3,
        artifact_root=catalogue.root,
        artifact_rules=rules,
        forecast=_forecast(config.controller.forecast),
        ipa=_ipa(config),
        proteus=proteus_options(config.controller.proteus or ProteusConfig()),
        per_worker=None if config.controller.proteus is None else config.controller.proteus.per_worker,
    )


def changed(settings: ControlSettings, changes: LiveChanges) -> ControlSettings:
    """The settings with the changes in them; raises `ConfigError` for what is not there to change."""
    endpoints = dict(settings.endpoints)
    for name, change in changes.endpoints.items():
        if name not in endpoints:
            raise ConfigError(f"user_config.endpoints.{name} is no endpoint; there are {', '.join(endpoints)}")
        given = change.model_dump(exclude_none=True)
        if (slo_ms := given.pop("slo_ms", None)) is not None:
            if slo_ms <= 1e3 * settings.transport_s:
                raise ConfigError(
                    f"user_config.endpoints.{name}.slo_ms is {slo_ms:g}, no more than transport_ms "
                    f"({1e3 * settings.transport_s:g}), so that no variant is ever in time; raise it"
                )
            given["slo_s"] = slo_ms / 1e3
        endpoints[name] = replace(endpoints[name], limits=replace(endpoints[name].limits, **given))
    pools = dict(settings.pools)
    for name, resized in changes.pools.items():
        if name not in pools:
            raise ConfigError(f"user_config.pools.{name} is no pool; there are {', '.join(pools)}")
        pools[name] = _resized(name, pools[name], resized)
        _check_sized(name, pools[name], settings.planner)
    forecast = settings.forecast
    if changes.forecast.quantile is not None:
        if forecast is None:
            raise ConfigError("user_config.forecast is given, but nothing is forecast; add controller.forecast to args")
        forecast = replace(forecast, quantile=changes.forecast.quantile)
    return replace(settings, endpoints=endpoints, pools=pools, forecast=forecast)


def _sizes(
    variants: Iterable[Variant],
    serving: Mapping[str, Mapping[str, PoolConfig]],
    root: str,
    rules: ArtifactRules,
    *,
    limited: bool,
) -> dict[str, int]:
    """By name what variants take of a worker's memory; with ``limited`` it has to be known.

    ``serving`` are the pools that may run them: where one of these limits a GPU, what a variant takes of that.
    """
    found = {}
    for variant in variants:
        on_gpu = any(pool.limits_gpu for pool in serving[variant.name].values())
        size_bytes = artifact_bytes(variant, root, rules, on_gpu=on_gpu)
        if size_bytes is None and limited:
            raise size_unknown(variant)
        found[variant.name] = size_bytes or 0
    return found


def _stages(
    name: str, endpoint: EndpointConfig, catalogue: Catalogue, wired: WiredPipeline | None, stacked: frozenset[str]
) -> dict[str, StageSettings]:
    """By the rule of `variants_of`; an ensemble keeps to the members that it begins with.

    ``stacked`` names the stacked ensembles of all endpoints.
    """
    own = stacked_names(endpoint)
    others = stacked - own
    if wired is not None and endpoint.pipeline is not None:
        configs = endpoint.pipeline.stages
        return {
            stage: StageSettings(
                configs[stage].task, configs[stage].variants, after, others, configs[stage].rows_per_job
            )
            for stage, after in wired.sources.items()
        }
    if endpoint.ensemble is None:
        listed = None if endpoint.variants is None else tuple(dict.fromkeys((*endpoint.variants, *sorted(own))))
        return {ONLY_STAGE: StageSettings(endpoint.task, listed, excluded=others)}
    members = tuple(variant.name for variant in variants_of(name, endpoint, catalogue))
    return {ONLY_STAGE: StageSettings(endpoint.task, members, excluded=others)}


def _ipa(config: AppConfig) -> IpaOptions:
    """The weights; accuracy is as it was measured, where that is known of every pipeline."""
    given = config.controller.ipa or IpaConfig()
    unmeasured = [
        name
        for name, endpoint in config.endpoints.items()
        if endpoint.pipeline is not None and endpoint.pipeline.accuracy is None
    ]
    if given.accuracy == "measured" and unmeasured:
        raise ConfigError(
            f"controller.ipa.accuracy is 'measured', and endpoints.{unmeasured[0]}.pipeline.accuracy names no file; "
            "give it one, or use accuracy product"
        )
    accuracy = given.accuracy or ("product" if unmeasured else "measured")
    return IpaOptions(
        alpha=given.alpha,
        beta=given.beta,
        delta=given.delta,
        accuracy=cast(Accuracy, accuracy),
        headroom=given.headroom,
        upgrades=given.upgrades,
        fallback=given.fallback,
    )


def proteus_options(given: ProteusConfig) -> ProteusOptions:
    """What planner ``proteus`` of a service with this config is told, but for the variants per worker."""
    return ProteusOptions(
        headroom=given.headroom,
        deviations=given.deviations,
        tolerance=given.tolerance,
        room_down_to=given.room_down_to,
        accuracy=cast(ProteusAccuracy, given.accuracy),
        fair=given.fair,
        price_per_point=inf if given.price_per_point is None else given.price_per_point,
        overload=cast(Overload, given.overload),
        fallback=given.fallback,
    )


def _pool(pool: PoolConfig) -> PoolSettings:
    batch_bytes = inf if pool.batch_bytes is None else pool.batch_bytes
    return PoolSettings(
        pool.device,
        pool.workers,
        bounds=pool.bounds,
        memory_bytes=pool.model_bytes,
        price_per_h=pool.price_per_h,
        start_up_s=pool.start_up_s,
        batch_bytes=batch_bytes,
        variants=None if pool.variants is None else tuple(pool.variants),
        threads=pool.threads,
    )


def _forecast(config: ForecastConfig | None) -> ForecastSettings | None:
    """Models that cannot be had stop the start, here where people see it."""
    if config is None:
        return None
    for where in config.artifacts.values():
        read(where)
    return ForecastSettings(**dict(config))


def _resized(name: str, pool: PoolSettings, change: PoolChange) -> PoolSettings:
    """With ``workers`` alone the pool has that size; bounds that are not given stay, where it is not fixed.

    A change that gives no number leaves the pool as it is.
    """
    fixed = change.workers is not None and change.min_workers is None and change.max_workers is None
    workers = pool.workers if change.workers is None else change.workers
    least = workers if fixed else pool.bounds.least if change.min_workers is None else change.min_workers
    most = workers if fixed else pool.bounds.most if change.max_workers is None else change.max_workers
    if least > most:
        raise ConfigError(
            f"user_config.pools.{name}: min_workers is {least}, more than max_workers ({most}); lower min_workers or "
            "raise max_workers"
        )
    bounds = Bounds(least, most)
    return replace(pool, workers=bounds.within(workers), bounds=bounds)


def _check_sized(name: str, pool: PoolSettings, planner: str) -> None:
    """Raise `ConfigError` for bounds that leave a size open where the planner chooses none, as for ``args``."""
    if pool.bounds.least == pool.bounds.most or planner_kind(planner).sizes:
        return
    able = ", ".join(kind.name for kind in PLANNERS.values() if kind.sizes)
    raise ConfigError(
        f"user_config.pools.{name} has min_workers or max_workers, and planner {planner!r} chooses no sizes, so that "
        f"the pool would never grow; give workers alone, or controller.planner {able} in args"
    )

"""From a config to what is deployed: the plan, what clients may know, and what every worker loads."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from catalog.catalogue import NAMED, Catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile_cache import cache_dir
from catalog.user_code.any_bytes import take_any_bytes
from deployments.messages.worker import WorkerSpec
from deployments.router.tables.making import Grids
from dispatch.balancing.registry import create_balancer
from dispatch.lengths.stage_lengths import StageLengths
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import ONLY_STAGE
from dispatch.selection.load_based import jellyfish, model_switching
from dispatch.selection.load_based.ladder_selection import LadderSelection
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.tables.grid import TableGrid
from dispatch.selection.ramsis.tables.work import worth_a_table
from dispatch.selection.registry import create_selection
from dispatch.table_plan import with_tables
from serve_app.build.candidates import (
    Profiles,
    candidates_of,
    variants_of,
    within_pools,
)
from serve_app.build.endpoints.ensembles import ballots_of, ensemble_plan, model_names, voted_outputs
from serve_app.build.endpoints.lengths import rule_of, stage_lengths
from serve_app.build.endpoints.pipelines import CSV, pipeline_info, pipeline_plan, wired_pipeline
from serve_app.build.endpoints.shadow import shadow_rules
from serve_app.build.named_variants import check_named_variants, warn_of_variants_nowhere
from serve_app.config.endpoints.endpoint import EndpointConfig
from serve_app.config.paths import located
from serve_app.config.schema import AppConfig
from serve_app.http.endpoint_info import EndpointInfo

logger = logging.getLogger("ray.serve")

NO_GRIDS: Grids = MappingProxyType({})
NO_LADDERS: Mapping[str, LadderSelection] = MappingProxyType({})

RECKONING = (RamsisSelection.name, jellyfish.NAME, model_switching.NAME)
"""Policies that are made for the load that the endpoint's workers bear."""


@dataclass(frozen=True)
class Assembly:
    """What `serve_app.main` deploys."""

    plan: Plan
    endpoints: dict[str, EndpointInfo]
    workers: dict[str, WorkerSpec]


def assemble(
    config: AppConfig,
    catalogue: Catalogue,
    profiles: Profiles,
    grids: Grids = NO_GRIDS,
    ladders: Mapping[str, LadderSelection] = NO_LADDERS,
) -> Assembly:
    """Check the config against the catalogue and the profiles, and derive all that is deployed.

    ``grids`` holds tables of endpoints with policy ``ramsis`` where there are some beforehand; variants that tables
    never choose are not loaded. ``ladders`` holds the policies of endpoints that are served by load alone
    (`serve_app.build.ladders`). Raises `ConfigError` naming the field, the value and the remedy.
    """
    plans, infos = {}, {}
    check_named_variants(config, catalogue)
    warn_of_variants_nowhere(config, catalogue)
    _warn_of_shared_workers(config)
    for name, endpoint in config.endpoints.items():
        if endpoint.pipeline is not None:
            wired = wired_pipeline(name, config, catalogue)
            plans[name] = pipeline_plan(name, config, catalogue, profiles, wired)
            infos[name] = pipeline_info(name, endpoint, catalogue, wired)
            continue
        variants = variants_of(name, endpoint, catalogue)
        votes = endpoint.ensemble is not None
        infos[name] = EndpointInfo(
            name,
            {ONLY_STAGE: endpoint.task},
            variants[0].inputs,
            voted_outputs(variants[0]) if votes else variants[0].outputs,
            variants[0].labels,
            min(
                endpoint.max_queued_rows,
                *(within_pools(variant, config.pools_of(name)).max_batch for variant in variants),
            ),
            frozenset(variant.name for variant in variants if variant.emulated),
            votes,
            ballots_of(variants[0]),
            dict.fromkeys([v.name for v in variants] if votes else [ONLY_STAGE], variants[0].inputs),
            () if (rule := rule_of(variants)) is None else (rule,),
            take_any_bytes(variants),
            model_names(variants, catalogue.root) if votes else {},
        )
        candidates = candidates_of(name, config, catalogue, profiles)
        if endpoint.ensemble is not None:
            members = {v.name: stage_lengths([v], profiles, endpoint.padding_share) for v in variants}
            plans[name] = ensemble_plan(name, endpoint, catalogue, variants, candidates, members)
            continue
        lengths = stage_lengths(variants, profiles, endpoint.padding_share)
        plan = _plain_plan(name, endpoint, candidates, grids.get(name), ladders.get(name), lengths)
        plan = replace(plan, shadow=shadow_rules(name, endpoint, catalogue, variants))
        plans[name] = with_tables(plan, grids[name]) if name in grids else plan
    workers = {}
    for pool, spec in config.pools.items():
        used = {
            candidate.variant
            for name, plan in plans.items()
            if pool in config.pools_of(name)
            for candidate in plan.candidates.get(spec.device, ())
        }
        # With a planner, or where not everything fits, the controller says who loads what.
        told = config.controller.kind.assigns or spec.memory_bytes is not None
        mine = tuple(
            within_pools(v, {pool: spec}) for v in catalogue.variants if v.name in used and spec.may_hold(v.name)
        )
        loaded = () if told else mine
        workers[pool] = WorkerSpec(
            pool,
            spec.device,
            spec.threads,
            loaded,
            catalogue.root,
            str(cache_dir()),
            spec.preemptible,
            spec.machine or "",
            config.artifacts.rules,
        )
    return Assembly(Plan(1, plans), infos, workers)


def _plain_plan(
    name: str,
    endpoint: EndpointConfig,
    candidates: dict[str, tuple[Candidate, ...]],
    grids: Mapping[str, TableGrid] | None,
    ladder: LadderSelection | None,
    lengths: StageLengths | None,
) -> EndpointPlan:
    """An endpoint of one stage, whose queries one variant each answers."""
    by_tables = endpoint.selection.policy == RamsisSelection.name
    made = RamsisSelection(grids or {}) if by_tables else ladder
    names = list(dict.fromkeys(each.variant for own in candidates.values() for each in own))
    try:
        selection = create_selection(endpoint.selection.policy, endpoint.selection.variant, names, made)
    except ConfigError as error:
        raise ConfigError(f"endpoints.{name}.selection: {error}") from error
    if by_tables:
        candidates = {device: worth_a_table(own, endpoint.slo_ms / 1e3) for device, own in candidates.items()}
    pools = None if endpoint.pools is None else frozenset(endpoint.pools)
    stage = StagePlan(candidates, selection, create_balancer(endpoint.balancing), pools=pools, lengths=lengths)
    return EndpointPlan(name, endpoint.limits, {ONLY_STAGE: stage})


def resolve_paths(config: AppConfig, base: Path) -> AppConfig:
    """The config with its paths taken relative to ``base``, the folder it is run from."""
    catalogue = config.catalogue if config.catalogue in NAMED else located(base, config.catalogue)
    profiles = {device: located(base, path) for device, path in config.profiles.items()}
    state, forecast = config.controller.state, config.controller.forecast
    if state is not None:
        state = located(base, state)
    if forecast is not None:
        artifacts = {name: located(base, uri) for name, uri in forecast.artifacts.items()}
        forecast = forecast.model_copy(update={"artifacts": artifacts})
    interference = config.controller.interference
    if interference is not None:
        interference = interference.model_copy(update={"model": located(base, interference.model)})
    control = {"state": state, "forecast": forecast, "interference": interference}
    controller = config.controller.model_copy(update=control)
    emulate = config.emulate
    if emulate is not None and emulate.factor_file is not None:
        emulate = emulate.model_copy(update={"factor_file": located(base, emulate.factor_file)})
    paths = {"catalogue": catalogue, "profiles": profiles, "controller": controller, "emulate": emulate}
    paths |= {"security": config.security.beside(base), "artifacts": config.artifacts.beside(base)}
    endpoints = {name: _endpoint_with_paths(endpoint, base) for name, endpoint in config.endpoints.items()}
    return config.model_copy(update={**paths, "endpoints": endpoints})


def _endpoint_with_paths(endpoint: EndpointConfig, base: Path) -> EndpointConfig:
    pipeline = endpoint.pipeline
    if pipeline is not None and pipeline.accuracy is not None and pipeline.accuracy.endswith(CSV):
        moved_one = pipeline.model_copy(update={"accuracy": located(base, pipeline.accuracy)})
        return endpoint.model_copy(update={"pipeline": moved_one})
    given = {"ensemble": endpoint.ensemble, "stacked": endpoint.stacked}
    moved = {
        field: section.model_copy(update={"votes": located(base, section.votes)})
        for field, section in given.items()
        if section is not None and section.votes is not None
    }
    return endpoint.model_copy(update=moved) if moved else endpoint


def _warn_of_shared_workers(config: AppConfig) -> None:
    """Tables, and ladders that Accord makes, reckon with workers that have nothing else to do."""
    sharing: dict[tuple[str, ...], list[str]] = {}
    for pool in config.pools:
        served = tuple(name for name in config.endpoints if pool in config.pools_of(name))
        sharing.setdefault(served, []).append(pool)
    for served, pools in sharing.items():
        policies = [config.endpoints[name].policy for name in served]
        reckoning = next((policy for policy in policies if policy in RECKONING), None)
        if len(served) > 1 and reckoning is not None:
            logger.warning(
                "Endpoints %s and %s share the workers of pool %s, which policy %r was made for as if they were one's "
                "own: expect more violations than it reckons with, or give each endpoint `pools` of its own.",
                ", ".join(served[:-1]),
                served[-1],
                ", ".join(sorted(pools)),
                reckoning,
            )

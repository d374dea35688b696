"""The policies of a config that decide by the load alone: which variant serves which load on which device."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from deployments.router.tables.making import table_store
from dispatch.selection.load_based import jellyfish, load_ladder, model_switching
from dispatch.selection.load_based.ladder_selection import LadderSelection
from dispatch.selection.load_based.load_ladder import LoadLadder, Rung, adaptive_batch
from dispatch.selection.policy import Candidate
from dispatch.selection.registry import LADDERS
from serve_app.build.candidates import Profiles, candidates_of
from serve_app.config.endpoints.selection import RungConfig
from serve_app.config.schema import AppConfig
from simulator.switching import SwitchingMaker

OnProgress = Callable[[str, int, int], None]
"""Called with the endpoint in hand, its simulations that are done, and how many there may be."""


def ladders_for(
    config: AppConfig, catalogue: Catalogue, profiles: Profiles, on_progress: OnProgress | None = None
) -> dict[str, LadderSelection]:
    """By endpoint the policy of those that are served by load alone; raises `ConfigError`.

    Response latencies for ``model_switching`` are simulated here, unless they are kept from an earlier start. Where
    workers differ, the ladder of a device is made as if all were of it; one that is given by hand goes there without
    the rungs whose variants no pool of the device may hold.
    """
    found = {}
    for name, endpoint in config.endpoints.items():
        if endpoint.selection.policy in LADDERS:
            offered = candidates_of(name, config, catalogue, profiles)
            made = {device: _ladder(name, config, own, on_progress) for device, own in offered.items()}
            ladders = {device: ladder for device, ladder in made.items() if ladder is not None}
            found[name] = LadderSelection(endpoint.selection.policy, ladders)
    return found


def _ladder(
    name: str, config: AppConfig, offered: tuple[Candidate, ...], on_progress: OnProgress | None
) -> LoadLadder | None:
    """The ladder of one device's candidates; None where no rung that is given by hand has a variant of theirs."""
    endpoint = config.endpoints[name]
    slo_s = endpoint.slo_ms / 1e3
    workers = sum(pool.workers for pool in config.pools_of(name).values())
    each = max(1, workers // config.routers)  # a router has its part of the workers and of the load
    if endpoint.selection.policy == jellyfish.NAME:
        return jellyfish.jellyfish_plus(offered, slo_s, each)
    if endpoint.selection.policy == model_switching.NAME:
        on_load = None if on_progress is None else lambda done, wanted: on_progress(name, done, wanted)
        return SwitchingMaker(offered, slo_s, each).make(table_store(), on_load)
    assert endpoint.selection.ladder is not None
    by_name = {candidate.variant: candidate for candidate in offered}
    rungs = tuple(
        _rung(f"endpoints.{name}.selection.ladder[{number}]", rung, by_name, slo_s)
        for number, rung in enumerate(endpoint.selection.ladder)
        if rung.variant in by_name
    )
    if not rungs:
        return None
    rungs = (*rungs[:-1], replace(rungs[-1], below_qps=inf))
    return LoadLadder(load_ladder.NAME, max(1, workers), slo_s, rungs, by_runs=True)


def _rung(field: str, given: RungConfig, by_name: Mapping[str, Candidate], slo_s: float) -> Rung:
    candidate = by_name[given.variant]
    max_rows = adaptive_batch(candidate, slo_s) if given.max_rows is None else given.max_rows
    if max_rows > candidate.max_batch:
        raise ConfigError(
            f"{field}.max_rows is {max_rows}, and {given.variant!r} takes batches of up to {candidate.max_batch}; "
            "lower it"
        )
    return Rung.of(candidate, inf if given.below_qps is None else given.below_qps, max_rows)

"""The latency profiles that a config is served with: files that it names, or measurements on this machine."""

from collections.abc import Mapping
from pathlib import Path

from catalog.catalogue import Catalogue
from catalog.errors import ArtifactError, ConfigError
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profile_csv import read_profiles
from catalog.variant import PYTHON, Variant
from deployments.worker.measure import OnProgress, measured_profiles
from serve_app.build.candidates import pools_of_variants, served_variants, within_some_pool
from serve_app.config.schema import AppConfig


def profiles_for(
    config: AppConfig, catalogue: Catalogue, on_progress: OnProgress | None = None
) -> dict[str, Mapping[str, LatencyProfile]]:
    """Device to variant to profile, for every device of the config's pools; paths must be resolved already.

    Measures what no file gives and what is not kept from an earlier start; on a device only what some pool of that
    device may hold for some endpoint. Raises `ConfigError` or `ArtifactError`.
    """
    variants = served_variants(config, catalogue)
    apart, serving = variants_apart(config, catalogue), pools_of_variants(config, catalogue)
    profiles: dict[str, Mapping[str, LatencyProfile]] = {}
    for pool in config.pools.values():
        if pool.device in profiles:
            continue
        alike = {
            variant: {name: each for name, each in own.items() if each.device == pool.device}
            for variant, own in serving.items()
        }
        path = config.profiles.get(pool.device)
        if path is not None:
            profiles[pool.device] = {name: row.profile for name, row in read_profiles(Path(path), pool.device).items()}
            continue
        held = [variant for variant in variants if alike[variant.name]]
        if "-" in pool.device and not all(variant.emulated for variant in held):
            raise ConfigError(
                f"profiles.{pool.device} names no file, and the machine that starts a service need not have this type "
                f"of device; measure it where it is, with `accord profile --catalogue {config.catalogue} --device "
                f"{pool.device.partition('-')[0]} --output FILE.csv`, and give profiles: "
                f"{{{pool.device}: FILE.csv}}"
            )
        groups = {name: own for name, own in apart.items() if config.pools[name].device == pool.device}
        elsewhere = {variant.name for own in groups.values() for variant in own}
        try:
            measured = measured_profiles(
                [within_some_pool(each, alike[each.name]) for each in held if each.name not in elsewhere],
                catalogue.root,
                pool.device,
                pool.threads,
                on_progress=on_progress,
                rules=config.artifacts.rules,
            )
            for name, own in groups.items():
                fitting = tuple(within_some_pool(variant, alike[variant.name]) for variant in own)
                measured |= _measured_apart(name, fitting, config, catalogue)
        except (ArtifactError, ConfigError) as error:
            if config.emulate is None and pool.device == "cpu":
                raise
            raise ConfigError(
                f"profiles.{pool.device} names no file, and the variants cannot be measured here: {error}; where other "
                f"machines run them, or nobody does, give profiles: {{{pool.device}: FILE.csv}}, "
                f"measured where they run with `accord profile --catalogue {config.catalogue} --device "
                f"{pool.device.partition('-')[0]} --output FILE.csv`"
            ) from error
        profiles[pool.device] = measured
    return profiles


def variants_apart(config: AppConfig, catalogue: Catalogue) -> dict[str, tuple[Variant, ...]]:
    """By pool the classes that only its workers may be able to run, for its ``runtime_env``, and that have no profile.

    A class that another pool of the device may hold without one, for some endpoint, is measured like any other variant.
    """
    serving = pools_of_variants(config, catalogue)
    found: dict[str, list[Variant]] = {}
    for variant in served_variants(config, catalogue):
        if variant.runtime != PYTHON:
            continue
        for device in {pool.device for pool in config.pools.values()} - config.profiles.keys():
            own = serving[variant.name]
            holding = [name for name, pool in config.pools.items() if pool.device == device and name in own]
            if holding and all(config.pools[name].runtime_env for name in holding):
                found.setdefault(holding[0], []).append(variant)
    return {name: tuple(variants) for name, variants in found.items()}


def _measured_apart(
    name: str, variants: tuple[Variant, ...], config: AppConfig, catalogue: Catalogue
) -> dict[str, LatencyProfile]:
    from deployments.worker.measure_apart import Surroundings, profiles_apart  # with Ray, which commands need not

    pool = config.pools[name]
    around = Surroundings(name, pool.device, pool.threads, pool.runtime_env, pool.num_gpus, pool.label_selector)
    return profiles_apart(variants, catalogue.root, around, config.artifacts.rules)

"""The latency profiles that a config is served with: files that it names, or measurements on this machine."""

from collections.abc import Mapping
from pathlib import Path

from catalog.catalogue import Catalogue
from catalog.errors import ArtifactError, ConfigError
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profile_csv import read_profiles
from deployments.worker.measure import OnProgress, measured_profiles
from serve_app.build.candidates import served_variants
from serve_app.config.schema import AppConfig


def profiles_for(
    config: AppConfig, catalogue: Catalogue, on_progress: OnProgress | None = None
) -> dict[str, Mapping[str, LatencyProfile]]:
    """Device to variant to profile, for every device of the config's pools; paths must be resolved already.

    Measures what no file gives and what is not kept from an earlier start. Raises `ConfigError` or `ArtifactError`.
    """
    variants = served_variants(config, catalogue)
    profiles: dict[str, Mapping[str, LatencyProfile]] = {}
    for pool in config.pools.values():
        if pool.device in profiles:
            continue
        path = config.profiles.get(pool.device)
        if path is not None:
            profiles[pool.device] = {name: row.profile for name, row in read_profiles(Path(path), pool.device).items()}
            continue
        try:
            profiles[pool.device] = measured_profiles(
                variants, catalogue.root, pool.device, pool.threads, on_progress=on_progress
            )
        except (ArtifactError, ConfigError) as error:
            if config.emulate is None:
                raise
            raise ConfigError(
                f"profiles.{pool.device} names no file, and the variants cannot be measured here: {error}; to emulate "
                f"them give profiles: {{{pool.device}: FILE.csv}}, measured where they run with `accord profile "
                f"--device {pool.device} --output FILE.csv`"
            ) from error
    return profiles

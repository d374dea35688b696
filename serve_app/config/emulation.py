"""A config that is rehearsed: every variant emulated by its profile."""

import hashlib
import logging
import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from catalog.catalogue import Catalogue
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profile_cache import cache_folder
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.variant import EMULATED, Artifact, Variant
from deployments.controller.variants.variant_bytes import artifact_bytes
from serve_app.build.candidates import Profiles, pools_of_variants, served_variants
from serve_app.config.schema import AppConfig, EmulationConfig

logger = logging.getLogger("ray.serve")


def emulate(config: AppConfig, catalogue: Catalogue, profiles: Profiles) -> Catalogue:
    """The catalogue with every variant that is served emulated by the profiles; as it is where nothing is to be.

    Variants that are emulated already stay as they are. The profiles are written below the cache folder, where workers
    read them. Where some pool limits the memory of its workers, variants claim the size of their real artifacts, which
    are fetched for it: raises `ArtifactError` where they cannot be had.
    """
    if config.emulate is None:
        return catalogue
    real = {variant.name: variant for variant in served_variants(config, catalogue) if not variant.emulated}
    if not real:
        return catalogue
    folder = _written(real, profiles)
    rules = config.artifacts.rules
    limited = any(pool.memory_bytes is not None for pool in config.pools.values())
    serving = pools_of_variants(config, catalogue)
    emulated = {
        name: replace(
            variant,
            runtime=EMULATED,
            artifact=Artifact(str(folder)),
            options=_options(
                config.emulate,
                artifact_bytes(
                    variant, catalogue.root, rules, on_gpu=any(pool.limits_gpu for pool in serving[name].values())
                )
                if limited
                else None,
            ),
        )
        for name, variant in real.items()
    }
    return replace(catalogue, variants=tuple(emulated.get(v.name, v) for v in catalogue.variants))


def log_emulated(variants: tuple[Variant, ...]) -> None:
    """Say at start which variants run no model."""
    names = [variant.name for variant in variants if variant.emulated]
    if names:
        logger.warning(
            "EMULATED: no model runs for %s. They take the times of their latency profiles; their answers mean "
            "nothing, and are marked as emulated.",
            ", ".join(names),
        )


def _options(how: EmulationConfig, memory_bytes: int | None) -> dict[str, object]:
    given = {**how.model_dump(), "memory_bytes": memory_bytes}
    return {name: value for name, value in given.items() if value is not None}


def _written(variants: Mapping[str, Variant], profiles: Profiles) -> Path:
    """A folder with one profile file per device; its name is that of its content, so that it never changes."""
    cache = cache_folder("emulated")
    with tempfile.TemporaryDirectory(prefix=".saving-", dir=cache) as scratch:
        made = Path(scratch) / "profiles"
        made.mkdir()
        digest = hashlib.sha256()
        for device, by_name in sorted(profiles.items()):
            rows = _rows(variants, by_name)
            if rows:
                write_profiles(made / f"{device}.csv", rows)
                digest.update(f"{device}\n".encode() + (made / f"{device}.csv").read_bytes())
        folder = cache / digest.hexdigest()[:24]
        if not folder.exists():
            try:
                os.replace(made, folder)
            except OSError:
                if not folder.exists():  # else another process was faster, with the same content
                    raise
    return folder


def _rows(variants: Mapping[str, Variant], measured: Mapping[str, LatencyProfile]) -> dict[str, ProfiledVariant]:
    return {
        name: ProfiledVariant(variant.accuracy_pct, measured[name])
        for name, variant in variants.items()
        if name in measured
    }

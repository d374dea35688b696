"""Profiles of variants whose code needs more than this process has: measured in a process that Ray makes for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import ray
from ray.exceptions import RayError, RayTaskError

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import AccordError, ArtifactError, ConfigError
from catalog.profiles.profile import LatencyProfile
from catalog.variant import Variant
from deployments.worker.measure import measured_profiles


@dataclass(frozen=True)
class Surroundings:
    """What the workers of ``pool`` have: Ray's ``runtime_env``, GPUs, and the labels of their nodes."""

    pool: str
    device: str
    threads: int
    runtime_env: Mapping[str, Any]
    num_gpus: float = 0.0
    label_selector: Mapping[str, str] = field(default_factory=dict)


def profiles_apart(
    variants: Sequence[Variant], root: str, surroundings: Surroundings, rules: ArtifactRules
) -> dict[str, LatencyProfile]:
    """`measured_profiles` as workers of a pool would measure them; blocks while Ray sets the environment up.

    Raises `ConfigError` where no Ray runs, or the environment cannot be set up, and as `measured_profiles` does.
    """
    names = ", ".join(variant.name for variant in variants)
    where = f"pools.{surroundings.pool}.runtime_env"
    if not ray.is_initialized():
        raise ConfigError(
            f"{names}: only workers with {where} can run them, and no Ray is here to measure them in it; serve the "
            f"config, or give profiles.{surroundings.device}"
        )
    more: dict[str, Any] = {"label_selector": dict(surroundings.label_selector)} if surroundings.label_selector else {}
    task = ray.remote(max_calls=1, max_retries=0, num_cpus=0)(_measured).options(
        runtime_env=dict(surroundings.runtime_env), num_gpus=surroundings.num_gpus, **more
    )
    try:
        found: dict[str, LatencyProfile] = ray.get(task.remote(tuple(variants), root, surroundings, rules))
    except RayTaskError as error:
        if isinstance(error.cause, AccordError):
            raise error.cause from None
        raise ArtifactError(f"{names} cannot be measured in {where}: {error.cause}") from error
    except RayError as error:
        raise ConfigError(f"{where} cannot be set up: {error}") from error
    return found


def _measured(
    variants: Sequence[Variant], root: str, surroundings: Surroundings, rules: ArtifactRules
) -> dict[str, LatencyProfile]:
    environment = orjson.dumps(dict(surroundings.runtime_env), option=orjson.OPT_SORT_KEYS).decode()
    return measured_profiles(
        variants, root, surroundings.device, surroundings.threads, rules=rules, environment=environment
    )

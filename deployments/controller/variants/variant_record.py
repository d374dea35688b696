"""What is saved of a registered variant: how it is described, and what it took in each pool, on which workers."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from catalog.variant import Variant
from deployments.messages.control_settings import PoolSettings

logger = logging.getLogger("ray.serve")

_VARIANT = TypeAdapter(Variant)


@dataclass(frozen=True)
class PoolProfile:
    """The 95th percentile of runs of 0 (unused), 1, 2, ... rows in one pool, and what its workers were at that time.

    ``device`` and ``threads`` are None where they were not written down, as by Accords of before.
    """

    runs_s: tuple[float, ...]
    device: str | None = None
    threads: int | None = None

    @classmethod
    def in_pool(cls, pool: PoolSettings, runs_s: tuple[float, ...]) -> "PoolProfile":
        """What was measured on the workers that the pool has now."""
        return cls(runs_s, pool.device, pool.threads)

    def is_of(self, pool: PoolSettings) -> bool:
        """Whether workers of the pool take as long, as far as is known."""
        return self.device in (None, pool.device) and self.threads in (None, pool.threads)


@dataclass(frozen=True)
class VariantRecord:
    """A registered variant with its profile by pool."""

    variant: Variant
    memory_bytes: int
    profiles: Mapping[str, PoolProfile]

    def parted(self, pools: Mapping[str, PoolSettings]) -> tuple["VariantRecord", "VariantRecord"]:
        """With the profiles that hold for these pools, of those that may hold the variant, and with the others."""
        usable = {
            name: profile
            for name, profile in self.profiles.items()
            if name in pools and pools[name].may_hold(self.variant.name) and profile.is_of(pools[name])
        }
        others = {name: profile for name, profile in self.profiles.items() if name not in usable}
        return replace(self, profiles=usable), replace(self, profiles=others)

    def log_aside(self, *, serves: bool) -> None:
        """Say that these profiles do not count; with ``serves`` the variant has others."""
        logger.log(
            logging.WARNING if serves else logging.ERROR,
            "Variant %r, registered before, is left out in pool %s: a pool that is gone, that has another device or "
            "other threads than when it was measured there, or that may not hold it. %s to have it measured.",
            self.variant.name,
            ", ".join(self.profiles) or "(none)",
            "Unregister it and register it anew" if serves else "Register it anew",
        )

    def to_json(self) -> dict[str, Any]:
        """All of it in JSON values; an Accord of before reads it and passes over ``measured_on``."""
        return {
            "variant": _VARIANT.dump_python(self.variant, mode="json"),
            "memory_bytes": self.memory_bytes,
            "profiles_s": {pool: list(profile.runs_s) for pool, profile in self.profiles.items()},
            "measured_on": {
                pool: {"device": profile.device, "threads": profile.threads} for pool, profile in self.profiles.items()
            },
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "VariantRecord":
        """Read what `to_json` gave, or an Accord of before; raises ValueError for what cannot be read."""
        try:
            measured_on = record.get("measured_on", {})
            return cls(
                _VARIANT.validate_python(record["variant"]),
                record["memory_bytes"],
                {
                    pool: PoolProfile(tuple(runs_s), **measured_on.get(pool, {}))
                    for pool, runs_s in record["profiles_s"].items()
                },
            )
        except (ValidationError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from error

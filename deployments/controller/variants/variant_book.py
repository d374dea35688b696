"""Which variants there are, with their profiles: those of the config, and those registered since."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf
from typing import Any

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool, Stage
from autoscaler.demand.profile_drift import corrected
from autoscaler.demand.worker_drift import RunKey
from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.evaluation.measured import AccuracyOrigin
from catalog.profiles.profile import LatencyProfile
from catalog.user_code.any_bytes import take_any_bytes
from catalog.variant import Variant
from deployments.controller.variants.variant_record import PoolProfile, VariantRecord
from deployments.messages.control_settings import ControlSettings, EndpointSettings, StageSettings
from dispatch.latency.lead import LEAD
from dispatch.selection.policy import Candidate

logger = logging.getLogger("ray.serve")


def tabulated_s(variant: Variant, profile: LatencyProfile) -> tuple[float, ...]:
    """The 95th percentile of the run of 0 (unused), 1, ... rows up to the variant's largest batch."""
    return (0.0, *(profile.p95_s(rows) for rows in range(1, variant.max_batch + 1)))


class VariantBook:
    """Knows every variant and what it takes on every pool that it was profiled on."""

    def __init__(self, settings: ControlSettings) -> None:
        self._catalogue = Catalogue(settings.variants, settings.artifact_root)
        self._registered: dict[str, Variant] = {}
        self._withdrawn: set[str] = set()
        self._aside: dict[str, VariantRecord] = {}
        self._unreadable: list[Mapping[str, Any]] = []
        self._endpoints = settings.endpoints
        self._pools = settings.pools
        self.transport_s = dict.fromkeys(settings.pools, settings.transport_s)
        self.memory_bytes = dict(settings.memory_bytes)
        self.profiled_s: dict[RunKey, tuple[float, ...]] = dict(settings.profiled_s)

    @property
    def names(self) -> tuple[str, ...]:
        """All variants that may serve."""
        return tuple(each.name for each in self._catalogue.variants if each.name not in self._withdrawn)

    @property
    def emulated(self) -> frozenset[str]:
        """Names of the variants that no model answers for."""
        return frozenset(each.name for each in self._catalogue.variants if each.emulated)

    @property
    def origins(self) -> dict[str, AccuracyOrigin]:
        """Where the accuracy of every variant comes from."""
        return {each.name: each.origin for each in self._catalogue.variants}

    def variant(self, name: str) -> Variant:
        """The variant of that name; raises `ConfigError` where there is none."""
        return self._catalogue.variant(name)

    def check(self, variant: Variant) -> None:
        """Raise `ConfigError` where the variant cannot stand beside the others: its name, its tensors, or what their
        elements may be: routers let through what the variants of the config take."""
        self._with(variant)
        others = [each for each in self._catalogue.variants if each.task == variant.task]
        others = [each for each in others if each.name not in self._registered]
        of_bytes = any(spec.datatype == "BYTES" for spec in variant.inputs)
        if of_bytes and others and take_any_bytes(others) and not take_any_bytes([variant]):
            raise ConfigError(
                f"variant {variant.name!r} takes text, and the others of task {variant.task!r} take elements that are "
                "no UTF-8, which clients may send; put it into the catalogue and start anew, so that these are refused"
            )

    def _with(self, variant: Variant) -> Catalogue:
        """The catalogue with one more, in place of one of that name that was withdrawn."""
        others = (v for v in self._catalogue.variants if v.name != variant.name or v.name not in self._withdrawn)
        return Catalogue((*others, variant), self._catalogue.root)

    def add(self, variant: Variant, profiles_s: Mapping[str, tuple[float, ...]], memory_bytes: int) -> None:
        """A new variant with its profile by pool; raises `ConfigError` as `check` and `fits` do."""
        fitting = self.fits(variant, profiles_s)
        profiled_s = {
            (pool, variant.name): runs_s[: fitting[pool].max_batch + 1]
            for pool, runs_s in profiles_s.items()
            if pool in fitting
        }
        self._catalogue = self._with(variant)
        self._withdrawn.discard(variant.name)
        self._registered[variant.name] = variant
        self._aside.pop(variant.name, None)
        self.memory_bytes[variant.name] = memory_bytes
        before = {key: runs_s for key, runs_s in self.profiled_s.items() if key[1] != variant.name}
        self.profiled_s = before | profiled_s

    def fitting(self, variant: Variant, pool: str) -> Variant:
        """The variant with batches that fit the memory which a pool keeps for them; raises `ConfigError`."""
        return variant.within(self._pools[pool].batch_bytes if pool in self._pools else inf)

    def fits(self, variant: Variant, pools: Iterable[str]) -> dict[str, Variant]:
        """The same by pool, without pools where not one row fits.

        Raises `ConfigError` where none is left, and where it runs fewer rows on a pool than clients may send to an
        endpoint that it serves there.
        """
        found, why = {}, None
        for pool in pools:
            try:
                found[pool] = self.fitting(variant, pool)
            except ConfigError as error:
                why = error
        if not found and why is not None:
            raise why
        for endpoint in self._endpoints.values():
            if endpoint.takes(variant.task, variant.name):
                self._check_rows(variant, endpoint, [found[pool].max_batch for pool in endpoint.pools if pool in found])
        return found

    def _check_rows(self, variant: Variant, endpoint: EndpointSettings, rows: Collection[int]) -> None:
        others = [v.name for v in self.of_endpoint(endpoint) if v.task == variant.task and v.name != variant.name]
        keys = ((pool, name) for pool in endpoint.pools for name in others)
        least = min((len(self.profiled_s[key]) - 1 for key in keys if key in self.profiled_s), default=1)
        most = min(rows, default=least)
        if most < least:
            raise ConfigError(
                f"variant {variant.name!r} runs {most} rows at most (max_batch, or row_bytes where pools have "
                f"batch_bytes), and clients may send {least} rows at once; raise max_batch, or start the service with "
                "the variant in its catalogue"
            )

    def withdraw(self, name: str) -> None:
        """Take a registered variant out of service; what workers still hold of it stays known until it is replaced.

        Raises `ConfigError` for one that is not there, and for one of the config.
        """
        if name not in self.names:
            raise ConfigError(f"there is no variant {name!r}; there are {', '.join(self.names)}")
        if name not in self._registered:
            registered = ", ".join(self._registered) or "none"
            raise ConfigError(
                f"variant {name!r} is in the service's config; take it out there and deploy it anew; registered since: "
                f"{registered}"
            )
        del self._registered[name]
        self._aside.pop(name, None)
        self._withdrawn.add(name)

    def take_back(self, name: str) -> None:
        """Let a variant serve again that was withdrawn; nothing changes for one that serves.

        Raises `ConfigError` for one that is not known, or no longer: a controller that begins anew knows none of them.
        """
        if name in self.names:
            return
        if name not in self._withdrawn:
            raise ConfigError(
                f"there is no variant {name!r}; there are {', '.join(self.names)}; describe it to register it"
            )
        self._withdrawn.discard(name)
        self._registered[name] = self._catalogue.variant(name)

    def of_endpoint(self, endpoint: EndpointSettings) -> tuple[Variant, ...]:
        """The variants that may answer an endpoint."""
        found = {each.name: each for stage in endpoint.stages.values() for each in self.of_stage(stage)}
        return tuple(found.values())

    def of_stage(self, stage: StageSettings) -> tuple[Variant, ...]:
        """The variants that may run a stage."""
        return tuple(
            variant
            for variant in self._catalogue.of_task(stage.task)
            if variant.name not in self._withdrawn and stage.takes(variant.name)
        )

    def stages(self, endpoint: EndpointSettings, candidates: Mapping[str, tuple[Candidate, ...]]) -> tuple[Stage, ...]:
        """The stages of a pipeline with those of its ``candidates``, by pool, that may run each, in batches of whole
        jobs; none of another endpoint."""
        if not endpoint.is_pipeline:
            return ()
        named = {name: {each.name for each in self.of_stage(stage)} for name, stage in endpoint.stages.items()}
        return tuple(
            Stage(
                name,
                stage.after,
                {
                    pool: tuple(c.of_whole_jobs(stage.rows_per_job) for c in own if c.variant in named[name])
                    for pool, own in candidates.items()
                },
                stage.rows_per_job,
            )
            for name, stage in endpoint.stages.items()
        )

    def candidates(
        self,
        endpoint: EndpointSettings,
        run_factor: Callable[[RunKey], float],
        transport_factor: Callable[[str], float],
        barred: Collection[RunKey],
    ) -> dict[str, tuple[Candidate, ...]]:
        """By pool what may answer there, corrected by the factors, without what is ``barred``."""
        lead = LEAD if endpoint.launches_ahead else 0.0
        found = {}
        for pool in endpoint.pools:
            way_s = self.transport_s[pool] * transport_factor(pool)
            found[pool] = tuple(
                corrected(
                    Candidate(variant.name, variant.accuracy, profiled_s), profiled_s, run_factor(key), way_s, lead
                )
                for variant in self.of_endpoint(endpoint)
                for key in [(pool, variant.name)]
                if key not in barred and (profiled_s := self.profiled_s.get(key)) is not None
            )
        return found

    def as_profiled(self, candidate: Candidate, pool: str) -> Candidate:
        """A candidate of a pool with its profile there as it is, without corrections."""
        return corrected(candidate, self.profiled_s[pool, candidate.variant], 1.0, self.transport_s[pool])

    def to_record(self) -> list[dict[str, Any]]:
        """The registered variants in JSON values, and what a record had of such that does not count for now."""
        kept = self._aside | {name: self._record(name) for name in self._registered}
        return [each.to_json() for each in kept.values()] + [dict(each) for each in self._unreadable]

    def _record(self, name: str) -> VariantRecord:
        aside = self._aside[name].profiles if name in self._aside else {}
        own = {pool: runs_s for (pool, of), runs_s in self.profiled_s.items() if of == name}
        measured = {pool: PoolProfile.in_pool(self._pools[pool], runs_s) for pool, runs_s in own.items()}
        return VariantRecord(self._registered[name], self.memory_bytes[name], {**aside, **measured})

    def restore(self, record: Iterable[Mapping[str, Any]]) -> None:
        """Register again what a record has; what the config has by now is left out, and what does not fit it.

        Profiles of pools whose workers are others now, or may not hold the variant, do not count. A variant that has no
        other is left out, and what cannot be read, as another version wrote it; all of that stays in the record.
        """
        for each in record:
            try:
                read = VariantRecord.from_json(each)
            except ValueError as error:
                logger.error("A variant that was registered cannot be read, and is left out: %s: %s", each, error)
                self._unreadable.append(each)
                continue
            if read.variant.name not in self.names:
                try:
                    self._restore(read)
                except ConfigError as error:
                    logger.error("Variant %r, registered before, is left out: %s", read.variant.name, error)

    def _restore(self, read: VariantRecord) -> None:
        usable, others = read.parted(self._pools)
        if usable.profiles:
            self.add(read.variant, {pool: of.runs_s for pool, of in usable.profiles.items()}, read.memory_bytes)
        if others.profiles or not usable.profiles:
            self._aside[read.variant.name] = others
            others.log_aside(serves=bool(usable.profiles))


def cluster_of(
    settings: ControlSettings,
    candidates: Mapping[str, Mapping[str, tuple[Candidate, ...]]],
    book: VariantBook,
    *,
    sizing: bool,
) -> Cluster:
    """What the planner plans for: a pool is a device type of its own.

    With ``sizing`` it may choose how many workers those pools have whose size is free; else it takes what is there.
    """
    endpoints = tuple(
        Endpoint(
            name,
            each.limits.slo_s,
            candidates[name],
            book.stages(each, candidates[name]),
            each.measured_accuracy,
        )
        for name, each in settings.endpoints.items()
    )
    pools = tuple(
        Pool(
            name,
            pool.memory_bytes,
            pool.price_per_h,
            pool.bounds.most if sizing and pool.bounds.least < pool.bounds.most else None,
        )
        for name, pool in settings.pools.items()
    )
    return Cluster(endpoints, pools, book.memory_bytes)

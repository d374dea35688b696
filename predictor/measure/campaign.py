"""Measures many configurations within a budget of time."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import NamedTuple

import numpy as np
import psutil

from predictor.measure import co_location
from predictor.measure.alone import measure_alone
from predictor.measure.choice import Variants
from predictor.measure.co_location import CoLocation, Cycle
from predictor.measure.gpu import GpuProbe
from predictor.measure.positions import Positions, Role
from predictor.measure.program import MeasuredVariant, Programs
from predictor.measure.records import Records

OnProgress = Callable[[str, int, int, float], object]
"""Called with what is measured now, how many configurations are done, of how many, and the seconds that are left."""

FIRST_FRAC = 0.6
"""Of the time, for a first measurement of every configuration; the rest goes to those that are known the least."""

AGAIN = 2.0
"""A further measurement takes so many times as long as the first: loading the variants takes as long in both."""

_MEMORY_FRAC = 0.5
"""Of the free memory, that all variants of all processes may take."""


@dataclass(frozen=True)
class CampaignReport:
    """What became of the configurations that were wanted."""

    measured: int
    kept: int  # measured before, and not again
    left: int  # not measured within the budget
    disturbed: int  # measured now, while other processes had more than QUIET_FRAC of the CPUs
    seconds: float
    noise: float | None  # mean absolute deviation of repeats from their mean; None without repeats
    spread: float | None  # standard deviation of all slowdowns; None without any


class _Left(NamedTuple):
    """A configuration to be measured, for the first time or, with a name, once more."""

    variants: Variants
    name: str | None = None
    others_frac: float = inf  # when it was measured before

    @property
    def weight(self) -> int:
        """Of its share of the time."""
        return max(1, len(self.variants) - 1)


@dataclass(frozen=True, eq=False)
class _Found:
    """A configuration that was measured now, for ``share_s``; ``name`` is what it is recorded under, None where not."""

    roles: tuple[Role, ...]
    name: str | None
    share_s: float
    cycles: list[Cycle]
    measured: CoLocation

    @property
    def error(self) -> float:
        """Of the slowdown that is known the least; infinite where there are too few cycles to tell."""
        if self.name is None:
            return 0.0
        return max(self.measured.error) if self.measured.cycles >= co_location.LEAST_CYCLES else inf


@dataclass(frozen=True)
class Campaign:
    """Configurations of variants to be measured on this machine, and the records that they go to.

    ``cpus`` are those that everything runs on; none stands for all. ``gpu`` is the number of the GPU whose metrics are
    recorded, where variants run on one.
    """

    programs: Programs
    variants: Mapping[str, MeasuredVariant]
    records: Records
    cpus: Collection[int] = ()
    gpu: int | None = None
    seed: int = 0

    def run(self, wanted: Sequence[Variants], budget_s: float, on_progress: OnProgress) -> CampaignReport:
        """Measure what is wanted and not recorded yet, and record each at once; one that is wanted twice is repeated.

        Metrics alone come first. What was recorded while other processes had more than `QUIET_FRAC` of the CPUs is
        measured once more, last, and the less disturbed of both is kept. `FIRST_FRAC` of the time that is left is
        divided among the configurations that are left, a triple getting twice the share of a pair, and so on; what one
        does not need goes to the others. What remains goes to those whose slowdown is known the least, one after the
        other, beginning with the worst. Stops at the end of ``budget_s``, a few seconds late at most.

        Raises `AccordError` where a variant fails or a process dies; all that was measured is recorded then.
        """
        began_s = time.monotonic()
        ends_s = began_s + budget_s
        left = self._left(wanted)
        names = sorted({name for each in left for name in each.variants})
        roles = self._roles(names, len(left), ends_s, on_progress)
        possible = [each for each in left if all(name in roles for name in each.variants)]
        found: list[_Found] = []
        if possible and time.monotonic() < ends_s:
            degree = max(len(each.variants) for each in possible)
            with Positions(self.programs, degree, self.cpus, self._keep_bytes(degree)) as positions:
                rng = Random(self.seed)
                now_s = time.monotonic()
                first_ends_s = now_s + FIRST_FRAC * (ends_s - now_s)
                for index, each in enumerate(possible):
                    now_s = time.monotonic()
                    if now_s >= ends_s:
                        break
                    on_progress(" + ".join(each.variants), index, len(left), ends_s - now_s)
                    own = tuple(roles[name] for name in each.variants)
                    weights = sum(other.weight for other in possible[index:])
                    share_s = max(first_ends_s - now_s, 0.0) * each.weight / weights
                    cycles: list[Cycle] = []
                    measured = co_location.measure(positions, own, share_s, rng, cycles)
                    better = measured.others_frac < each.others_frac
                    name = self.records.add(own, measured, each.name) if better else None
                    found.append(_Found(own, name, share_s, cycles, measured))
                self._again(found, positions, rng, ends_s, lambda what, s: on_progress(what, len(found), len(left), s))
        noise, spread = self._noise()
        return CampaignReport(
            measured=len(found),
            kept=len(wanted) - len(left),
            left=len(left) - len(found),
            disturbed=sum(each.measured.others_frac > co_location.QUIET_FRAC for each in found),
            seconds=time.monotonic() - began_s,
            noise=noise,
            spread=spread,
        )

    def _again(
        self,
        found: list[_Found],
        positions: Positions,
        rng: Random,
        ends_s: float,
        on_progress: Callable[[str, float], object],
    ) -> None:
        """More cycles for the configuration with the largest error, and so on, while there is time for them."""
        while found:
            worst = max(found, key=lambda each: each.error)
            left_s = ends_s - time.monotonic()
            share_s = AGAIN * worst.share_s
            if worst.error <= co_location.TARGET_ERROR or left_s < worst.measured.seconds + share_s:
                return
            on_progress(" + ".join(role.variant for role in worst.roles), left_s)
            measured = co_location.measure(positions, worst.roles, share_s, rng, worst.cycles)
            measured = measured._replace(seconds=worst.measured.seconds + measured.seconds)
            self.records.add(worst.roles, measured, worst.name)
            found[found.index(worst)] = replace(worst, measured=measured)

    def _left(self, wanted: Sequence[Variants]) -> list[_Left]:
        """What was not measured, and then what was measured while others had the CPUs."""
        recorded: dict[Variants, list[_Left]] = defaultdict(list)
        for name, (variants, others_frac) in self.records.others_frac().items():
            recorded[variants].append(_Left(variants, name, others_frac))
        new, again = [], []
        for variants in wanted:
            if not recorded[variants]:
                new.append(_Left(variants))
            elif (before := recorded[variants].pop(0)).others_frac > co_location.QUIET_FRAC:
                again.append(before)
        return new + again

    def _roles(
        self, names: Sequence[str], configurations: int, ends_s: float, on_progress: OnProgress
    ) -> dict[str, Role]:
        """Of all variants for whose metrics there was time; those that were disturbed are measured once more."""
        roles: dict[str, Role] = {}
        for name in names:
            known = self.records.metrics(name)
            if known is not None:
                roles[name] = Role(name, int(known["hw_rows"]))
            now_s = time.monotonic()
            if now_s >= ends_s or (known is not None and known["others_frac"] <= co_location.QUIET_FRAC):
                continue
            on_progress(f"{name} alone", 0, configurations, ends_s - now_s)
            variant = self.variants[name]
            rows = None if known is None else roles[name].rows
            metrics = measure_alone(self.programs, variant, rows, self.cpus, self.gpu)
            roles[name] = Role(name, int(metrics["hw_rows"]))
            if known is None or metrics["others_frac"] < known["others_frac"]:
                self.records.add_metrics(name, {**metrics, **variant.architecture})
        return roles

    def _keep_bytes(self, degree: int) -> int:
        free = psutil.virtual_memory().available
        if self.gpu is not None:
            free = GpuProbe(self.gpu).free_bytes()
        return int(_MEMORY_FRAC * free / degree)

    def _noise(self) -> tuple[float | None, float | None]:
        own = self.records.own()
        if own is None:
            return None, None
        repeated = [np.array([run.slowdown for run in runs]) for runs in own.repeats.values() if len(runs) > 1]
        away = [np.abs(each - each.mean(axis=0)).ravel() for each in repeated]
        return (float(np.concatenate(away).mean()) if away else None), float(own.slowdown.std())

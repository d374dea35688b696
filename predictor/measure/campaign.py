"""Measures many configurations within a budget of time."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import psutil

from predictor.measure.alone import measure_alone
from predictor.measure.choice import Variants
from predictor.measure.co_location import QUIET_FRAC, measure
from predictor.measure.gpu import GpuProbe
from predictor.measure.positions import Positions, Role
from predictor.measure.program import MeasuredVariant, Programs
from predictor.measure.records import Records

OnProgress = Callable[[str, int, int, float], object]
"""Called with what is measured now, how many configurations are done, of how many, and the seconds that are left."""

_MEMORY_FRAC = 0.5
"""Of the free memory, that all variants of all processes may take."""


@dataclass(frozen=True)
class CampaignReport:
    """What became of the configurations that were wanted."""

    measured: int
    kept: int  # measured before
    left: int  # not measured within the budget
    disturbed: int  # measured now, while other processes had more than QUIET_FRAC of the CPUs
    seconds: float
    noise: float | None  # mean absolute deviation of repeats from their mean; None without repeats
    spread: float | None  # standard deviation of all slowdowns; None without any


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

        Metrics alone come first. The time that is left is divided among the configurations that are left, a triple
        getting twice the share of a pair, and so on; what one does not need goes to the others. Stops at the end of
        ``budget_s``, a few seconds late at most.

        Raises `AccordError` where a variant fails or a process dies; all that was measured is recorded then.
        """
        began_s = time.monotonic()
        ends_s = began_s + budget_s
        done, left = self.records.done(), []
        for variants in wanted:
            done[variants] -= 1
            if done[variants] < 0:
                left.append(variants)
        names = sorted({name for variants in left for name in variants})
        roles = self._roles(names, len(left), ends_s, on_progress)
        disturbed = measured = 0
        possible = [variants for variants in left if all(name in roles for name in variants)]
        if possible and time.monotonic() < ends_s:
            degree = max(map(len, possible))
            with Positions(self.programs, degree, self.cpus, self._keep_bytes(degree)) as positions:
                rng = Random(self.seed)
                for index, variants in enumerate(possible):
                    now_s = time.monotonic()
                    if now_s >= ends_s:
                        break
                    on_progress(" + ".join(variants), index, len(left), ends_s - now_s)
                    own = [roles[name] for name in variants]
                    shares = sum(len(each) - 1 for each in possible[index:])
                    found = measure(positions, own, (ends_s - now_s) * (len(variants) - 1) / shares, rng)
                    self.records.add(own, found)
                    measured += 1
                    disturbed += found.others_frac > QUIET_FRAC
        noise, spread = self._noise()
        return CampaignReport(
            measured=measured,
            kept=len(wanted) - len(left),
            left=len(left) - measured,
            disturbed=disturbed,
            seconds=time.monotonic() - began_s,
            noise=noise,
            spread=spread,
        )

    def _roles(
        self, names: Sequence[str], configurations: int, ends_s: float, on_progress: OnProgress
    ) -> dict[str, Role]:
        """Of all variants for whose metrics there was time."""
        known = self.records.roles()
        for name in names:
            now_s = time.monotonic()
            if name in known or now_s >= ends_s:
                continue
            on_progress(f"{name} alone", 0, configurations, ends_s - now_s)
            variant = self.variants[name]
            known[name], metrics = measure_alone(self.programs, variant, self.cpus, self.gpu)
            self.records.add_metrics(name, {**metrics, **variant.architecture})
        return known

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

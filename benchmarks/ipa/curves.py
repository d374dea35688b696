"""Latencies of the paper's models, which it does not give, from what it does give (docs/benchmarks/pipelines.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from statistics import fmean

from benchmarks.ipa.scenario import Measured, Task
from catalog.profiles.base_allocation import SLO_FACTOR, base_allocations
from catalog.profiles.latency_fit import LatencyFit, fit_latency

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)

MOST_CORES = 32
"""Table 4 is capped there."""

TOO_SLOW = 1.01
"""A variant with half the cores of its base allocation is slower by this factor, or more, than it may be."""

ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True)
class LatencyLaw:
    """l = c params^size R^-cores (1 + growth (b - 1)) seconds, with a factor c for each task."""

    growth: float
    cores: float
    size: float

    def of_batch(self, batch_rows: int) -> float:
        """How many times the latency of one row."""
        return 1.0 + self.growth * (batch_rows - 1)


def law_of(measured: Measured, size_factor: float = 1.0) -> LatencyLaw:
    """What tables 2 and 3 say of all models; ``size_factor`` times the exponent of the parameters.

    Growth is the mean of the lines through Table 3's batches. The exponent of the cores is that of the least squares of
    logarithms over Table 2. That of the parameters is the mean over the pairs of Table 3, at equal cores.
    """
    lines = [
        fit_latency({b: ms / row.latency_ms[1] for b, ms in row.latency_ms.items()}) for row in measured.over_batch
    ]
    doubled = [
        (log(cores), log(own[1] / ms)) for own in measured.over_cores.values() for cores, ms in own.items() if cores > 1
    ]
    exponent = sum(x * y for x, y in doubled) / sum(x * x for x, _ in doubled)
    work = {
        row.variant: (row.params_m, row.latency_ms[1] * row.cores**exponent)
        for row in measured.over_batch
        if row.latency_ms.keys() >= {1}
    }
    sizes = [
        log(work[large][1] / work[small][1]) / log(work[large][0] / work[small][0])
        for small, large in measured.same_family
    ]
    return LatencyLaw(fmean(line.beta for line in lines), exponent, size_factor * fmean(sizes))


@dataclass(frozen=True)
class TaskCurves:
    """Of one task: by variant the curve under its base allocation, and what follows.

    ``first_s`` are the latencies of one row. With the slowest, a batch of ``largest_batch`` bears the task's threshold
    within ``slo_s``. ``threshold_binds`` where that and not ``slo_s`` decides how slow the variants are, and
    ``slo_factor`` is the ratio of ``slo_s`` to their mean for one row, `SLO_FACTOR` where it decides.
    """

    slo_s: float
    largest_batch: int
    threshold_binds: bool
    first_s: Mapping[str, float]
    law: LatencyLaw
    cores: Mapping[str, int]

    @property
    def slo_factor(self) -> float:
        """See the class."""
        return self.slo_s / fmean(self.first_s.values())

    def curve(self, variant: str, cores: int | None = None) -> LatencyFit:
        """Seconds by rows, under the base allocation or so many cores."""
        first_s = self.first_s[variant]
        if cores is not None:
            first_s *= (self.cores[variant] / cores) ** self.law.cores
        return fit_latency({rows: first_s * self.law.of_batch(rows) for rows in BATCH_SIZES})

    def most_rows(self, variant: str) -> int:
        """The largest batch that takes no longer than the task may."""
        curve = self.curve(variant)
        return max(rows for rows in BATCH_SIZES if rows == 1 or curve.latency_s(rows) <= self.slo_s * ROUNDING)


def curves_of(task: Task, slo_s: float, law: LatencyLaw) -> TaskCurves:
    """As slow as Table 6 says, or as the threshold allows, and no faster than the base allocations say."""
    shape = {name: row.params_m**law.size / row.cores**law.cores for name, row in task.variants.items()}
    limits_s = {rows: min(rows / task.threshold_qps, slo_s) / law.of_batch(rows) for rows in BATCH_SIZES}
    largest_batch = max(limits_s, key=lambda rows: limits_s[rows])
    slowest_s = limits_s[largest_batch]
    by_slo = slo_s / SLO_FACTOR / fmean(shape.values())
    by_threshold = slowest_s / max(shape.values())
    first_s = {}
    for name, row in task.variants.items():
        fewer_s = TOO_SLOW * slowest_s / 2**law.cores if row.cores > 1 else 0.0
        first_s[name] = min(max(shape[name] * min(by_slo, by_threshold), fewer_s), slowest_s)
    cores = {name: row.cores for name, row in task.variants.items()}
    return TaskCurves(slo_s, largest_batch, by_threshold < by_slo, first_s, law, cores)


def least_cores_of(task: Task, curves: TaskCurves) -> dict[str, int]:
    """What equation 1 gives for these curves; it is what tables 7 to 14 say, or the rule is broken."""
    powers = [1 << n for n in range(MOST_CORES.bit_length())]
    variants = {name: {cores: curves.curve(name, cores).latency_s for cores in powers} for name in task.variants}
    sizes = [rows for rows in BATCH_SIZES if rows <= curves.largest_batch]
    found = base_allocations(variants, task.threshold_qps / ROUNDING, sizes, curves.slo_s * ROUNDING)
    return {name: each.cores for name, each in found.variants.items()}

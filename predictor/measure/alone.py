"""Metrics of a variant that runs alone on a machine, and how many rows its batches have."""

import time
from collections.abc import Collection
from typing import NamedTuple

from predictor.measure.gpu import GpuProbe
from predictor.measure.memory_traffic import estimated_bytes, memory_bytes
from predictor.measure.positions import Positions, Role
from predictor.measure.program import MeasuredVariant, Programs
from predictor.measure.requests import Batches

LEAST_BATCH_S = 0.002
"""Batches have as few rows as take so long, that the time between two batches does not count."""

WINDOW_S, GPU_WINDOW_S = 0.25, 1.5
"""NVML tells the utilisation of the last second."""

TRIES = 4
"""Windows; the one counts in which other processes had least of the CPUs."""


def measure_alone(
    programs: Programs,
    variant: MeasuredVariant,
    rows: int | None = None,
    cpus: Collection[int] = (),
    gpu: int | None = None,
) -> dict[str, float]:
    """Metrics of ``variant`` in a process of its own.

    - ``others_frac``: share of the CPUs that other processes had meanwhile;
    - ``hw_rows`` of a batch: ``rows``, or else the smallest power of two that takes `LEAST_BATCH_S`, at most
      ``variant.max_rows``;
    - ``hw_latency_ms``: mean of a batch;
    - ``hw_cpu_utilisation``: CPU time over time, more than 1 with several threads;
    - ``hw_resident_bytes``: what loading and running it added to its process;
    - ``hw_memory_bytes_per_s``: traffic, of the whole machine, or, where ``hw_memory_is_estimate`` is 1, reckoned from
      the graph;
    - ``hw_voluntary_switches_per_s`` and ``hw_involuntary_switches_per_s`` of contexts;
    - with ``gpu``, the number of a GPU, those of `GpuProbe.watching`.

    Raises `AccordError` where the variant cannot be loaded, and `ConfigError` where there is no such GPU.
    """
    probe = None if gpu is None else GpuProbe(gpu)
    role = Role(variant.name, rows or _least_rows(programs, variant, cpus))
    with Positions(programs, 1, cpus) as alone:
        (loaded,) = alone.load([Role(variant.name, 1)])
        (grown,) = alone.load([role])
        observed = min((_observe(alone, role, probe) for _ in range(TRIES)), key=lambda each: each.others_frac)
    batches, traffic = observed.batches, observed.memory_bytes_per_s
    estimate = estimated_bytes(variant, role.rows) / batches.mean_s
    return {
        "others_frac": observed.others_frac,
        "hw_rows": float(role.rows),
        "hw_latency_ms": batches.mean_s * 1e3,
        "hw_cpu_utilisation": batches.cpu_s / batches.seconds,
        "hw_resident_bytes": float(loaded.resident_bytes + grown.resident_bytes),
        "hw_memory_bytes_per_s": estimate if traffic is None else traffic,
        "hw_memory_is_estimate": float(traffic is None),
        "hw_voluntary_switches_per_s": batches.voluntary_switches / batches.seconds,
        "hw_involuntary_switches_per_s": batches.involuntary_switches / batches.seconds,
        **observed.gpu,
    }


def _least_rows(programs: Programs, variant: MeasuredVariant, cpus: Collection[int]) -> int:
    """In another process than the one that is measured, whose memory would have grown by these batches already."""
    rows = 1
    with Positions(programs, 1, cpus) as trials:
        while rows < variant.max_rows and trials.trial_s(Role(variant.name, rows)) < LEAST_BATCH_S:
            rows = min(2 * rows, variant.max_rows)
    return rows


class _Observed(NamedTuple):
    batches: Batches
    memory_bytes_per_s: float | None  # of the whole machine; None where it does not tell
    gpu: dict[str, float]
    others_frac: float


def _observe(alone: Positions, role: Role, probe: GpuProbe | None) -> _Observed:
    """One window of a variant alone."""
    began, before = alone.clock.read(), memory_bytes()
    watched: dict[str, float] = {}
    if probe is None:
        (batches,) = alone.window([role], WINDOW_S)
    else:
        with probe.watching() as watched:
            (batches,) = alone.window([role], GPU_WINDOW_S)
    after, ended_s = memory_bytes(), time.perf_counter()
    traffic = None if before is None or after is None else (after - before) / (ended_s - began.at_s)
    return _Observed(batches, traffic, watched, alone.clock.others_frac(began, batches.whole_cpu_s))

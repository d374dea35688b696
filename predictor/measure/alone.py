"""Metrics of a variant that runs alone on a machine, and how many rows its batches have."""

from collections.abc import Collection

from predictor.measure.gpu import GpuProbe
from predictor.measure.memory_traffic import estimated_bytes, memory_bytes
from predictor.measure.positions import Positions, Role
from predictor.measure.program import MeasuredVariant, Programs

LEAST_BATCH_S = 0.002
"""Batches have as few rows as take so long, that the time between two batches does not count."""

WINDOW_S, GPU_WINDOW_S = 0.5, 1.5
"""NVML tells the utilisation of the last second."""


def measure_alone(
    programs: Programs, variant: MeasuredVariant, cpus: Collection[int] = (), gpu: int | None = None
) -> tuple[Role, dict[str, float]]:
    """The role that ``variant`` has in all configurations, and its ``hw_`` metrics, in a process of its own.

    - ``hw_rows`` of a batch: the smallest power of two that takes `LEAST_BATCH_S`, or ``variant.max_rows``;
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
    with Positions(programs, 1, cpus) as alone:
        (loaded,) = alone.load([Role(variant.name, 1)])
        rows = 1
        while rows < variant.max_rows and alone.trial_s(Role(variant.name, rows)) < LEAST_BATCH_S:
            rows = min(2 * rows, variant.max_rows)
        role = Role(variant.name, rows)
        (grown,) = alone.load([role])
        before = memory_bytes()
        watched: dict[str, float] = {}
        if probe is None:
            (batches,) = alone.window([role], WINDOW_S)
        else:
            with probe.watching() as watched:
                (batches,) = alone.window([role], GPU_WINDOW_S)
        after = memory_bytes()
    estimated = before is None or after is None
    moved = estimated_bytes(variant, rows) * batches.ran if before is None or after is None else after - before
    return role, {
        "hw_rows": float(rows),
        "hw_latency_ms": batches.mean_s * 1e3,
        "hw_cpu_utilisation": batches.cpu_s / batches.seconds,
        "hw_resident_bytes": float(loaded.resident_bytes + grown.resident_bytes),
        "hw_memory_bytes_per_s": moved / batches.seconds,
        "hw_memory_is_estimate": float(estimated),
        "hw_voluntary_switches_per_s": batches.voluntary_switches / batches.seconds,
        "hw_involuntary_switches_per_s": batches.involuntary_switches / batches.seconds,
        **watched,
    }

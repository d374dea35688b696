"""Small profile tables and traces, as files with the columns of the published ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

PROFILE_COLUMNS = "Model,Accel,Trials,batchsize,50th_pct,90th_pct,avg_latency(ms),Min,Max,Accuracy,Normalized_Accuracy"
CPU, GPU = "ort_cpu", "ort_gpu"

Affine = Mapping[str, tuple[float, float]]
"""By device type the milliseconds of a batch, and those of each of its rows."""


def write_profiles(path: Path, variants: Mapping[str, tuple[float, Affine]]) -> Path:
    """Variants with their normalised accuracy in percent, measured with 1, 2, 4 and 8 rows."""
    lines = [
        f"{name},{device},100,{rows},,,{fixed_ms + row_ms * rows},,,{accuracy_pct * 0.9},{accuracy_pct}"
        for name, (accuracy_pct, devices) in variants.items()
        for device, (fixed_ms, row_ms) in devices.items()
        for rows in (1, 2, 4, 8)
    ]
    path.write_text("\n".join((PROFILE_COLUMNS, *lines)) + "\n")
    return path


def write_trace(path: Path, arrivals_s: Mapping[str, Sequence[float]]) -> Path:
    """All queries in the order of their arrival, to a thousandth of a millisecond."""
    queries = sorted((instant_s, name) for name, of in arrivals_s.items() for instant_s in of)
    lines = [f"{1e3 * instant_s:.3f},{name}" for instant_s, name in queries]
    path.write_text("\n".join(("arrival_ms,query_type", *lines)) + "\n")
    return path


def evenly(qps: float, start_s: float, end_s: float) -> list[float]:
    """Queries at equal distances, half of one from both ends."""
    return [start_s + (number + 0.5) / qps for number in range(round(qps * (end_s - start_s)))]


def by_chance(qps: float, start_s: float, end_s: float, rng: np.random.Generator) -> list[float]:
    """So many queries a second in the mean, at instants that know nothing of each other."""
    count = rng.poisson(qps * (end_s - start_s))
    return sorted(map(float, rng.uniform(start_s, end_s, count)))

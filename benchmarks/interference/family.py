"""A made-up family of variants and machine types whose law of slowdown the predictors don't see.

Each variant asks for shares of four resources (compute, memory bandwidth, cache, bus), each machine type has so much of
each: five of them are CPUs and three GPUs, of growing size. A variant is slowed down by what is asked for beyond what
there is, of each resource by how sensitive the variant is to it:

    slowdown = 1 + sum over resources of sensitivity * (excess with all - excess alone) / parallelism of the type,

where excess is max(0, asked for / there is - 1). Measurements have a relative noise of 1%. Metrics are noisy views of
these demands: ``hw_`` of what is asked for in relation to what there is (CPUs report no bus, GPUs no cache), ``arch_``
products of powers of the demands.
"""

from itertools import combinations_with_replacement

import numpy as np

from predictor.configuration import Configuration
from predictor.measurements import Measurements, Run
from predictor.variant_table import VariantTable

VARIANTS = 14
CPUS, GPUS = 5, 3
CONFIGURATIONS = 100
"""Of each machine type, drawn from all pairs and triples."""

NOISE, METRIC_NOISE = 0.01, 0.05


def family(seed: int) -> tuple[Measurements, VariantTable]:
    """Measurements and metrics of one draw."""
    rng = np.random.default_rng(seed)
    names = [f"variant-{i}" for i in range(VARIANTS)]
    demands = np.column_stack(
        [
            rng.uniform(0.2, 1.0, VARIANTS),
            rng.lognormal(-1.0, 0.7, VARIANTS),
            rng.lognormal(-0.7, 0.8, VARIANTS),
            rng.uniform(0.0, 0.6, VARIANTS) + 0.02,
        ]
    )
    sensitivity = rng.uniform(0.3, 1.2, demands.shape) * np.sqrt(demands / demands.max(axis=0))
    work_ms = rng.lognormal(2.0, 0.8, VARIANTS)
    sets = [each for degree in (2, 3) for each in combinations_with_replacement(range(VARIANTS), degree)]
    runs: list[Run] = []
    hardware: dict[tuple[str, str], dict[str, float]] = {}
    for number in range(CPUS + GPUS):
        gpu = number >= CPUS
        size = number - CPUS if gpu else number
        machine = f"gpu-{size}" if gpu else f"cpu-{8 << size}"
        base = np.array([0.7, 1.2, 0.4, 0.5]) if gpu else np.array([1.0, 0.6, 0.8, 0.9])
        there_is = base * (1 + np.array([0.5, 0.3, 0.25, 0.1]) * size) * rng.lognormal(0.0, 0.08, 4)
        alone_ms = work_ms / there_is[0]
        asked = demands / there_is
        for chosen in rng.permutation(len(sets))[:CONFIGURATIONS]:
            members = list(sets[chosen])
            with_all = np.maximum(asked[members].sum(axis=0) - 1, 0)
            alone = np.maximum(asked[members] - 1, 0)
            added = ((with_all - alone) * sensitivity[members]).sum(axis=1) / (1.5 if gpu else 1.0)
            slowdown = (1 + added) * np.exp(rng.normal(0.0, NOISE, len(members)))
            own_ms = alone_ms[members]
            runs.append(
                Run(
                    Configuration(machine, tuple(names[i] for i in members)),
                    tuple(own_ms.tolist()),
                    tuple((own_ms * slowdown).tolist()),
                )
            )
        seen = asked * np.exp(rng.normal(0.0, METRIC_NOISE, asked.shape))
        for i, name in enumerate(names):
            hardware[machine, name] = {
                "hw_utilisation": float(min(seen[i, 0], 1.0)),
                "hw_memory": float(seen[i, 1]),
                "hw_latency_ms": float(alone_ms[i]),
                ("hw_bus" if gpu else "hw_cache"): float(seen[i, 3 if gpu else 2]),
            }
    powers = rng.normal(size=(4, 8)) * 0.4
    seen = np.exp(np.log(demands) @ powers + rng.normal(0.0, 0.15, (VARIANTS, 8)))
    architecture = {
        name: {f"arch_{k}": float(seen[i, k]) for k in range(seen.shape[1])} for i, name in enumerate(names)
    }
    return Measurements(tuple(runs)), VariantTable(hardware, architecture)

"""What the predictor learns from: each variant alone and all pairs on one CPU, under the load that is placed later."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.placement.effect_load import P95, SteadyLoad, arrivals_s
from benchmarks.placement.effect_pools import Pools, Query
from catalog.machine_type import machine_type
from predictor.configuration import Configuration
from predictor.measure.positions import Role
from predictor.measurements import Measurements, Run
from predictor.variant_table import VariantTable

SERVICE_S, ALONE_S, PAIR_S = 1.0, 3.0, 3.0
"""Of a window. Alone, a variant is measured on both CPUs; so is each pair."""


@dataclass(frozen=True)
class Known:
    """What schedulers may know of the variants of all mixes."""

    machine: str
    loads: Mapping[str, SteadyLoad]
    alone: Mapping[str, Mapping[str, float]]
    pairs: Measurements
    table: VariantTable


def measure_loads(
    pools: Pools, roles: Sequence[Role], utilisation: Mapping[str, float], rng: np.random.Generator
) -> dict[str, SteadyLoad]:
    """The rate at which each variant has its utilisation alone, by the CPU time of a query under about that load."""
    found = {}
    for role in roles:
        supposed = SteadyLoad(role, utilisation[role.variant], pools.trial_s(role))
        observed = pools.observe([[_query(supposed, SERVICE_S, rng)] for _ in pools.cpus])
        queries = sum(len(latencies_s) for (latencies_s,) in observed.latencies_s)
        cpu_s = sum(cpu_s for (cpu_s,) in observed.cpu_s)
        found[role.variant] = SteadyLoad(role, supposed.utilisation, cpu_s / queries)
    return found


def measure_alone(
    pools: Pools, loads: Mapping[str, SteadyLoad], rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """By variant its latency alone under its load, mean and 95th percentile in ms, and how much of the CPU it takes."""
    found = {}
    for name, load in loads.items():
        observed = pools.observe([[_query(load, ALONE_S, rng)] for _ in pools.cpus])
        latencies_ms = 1e3 * np.concatenate([own for (own,) in observed.latencies_s])
        found[name] = {
            "hw_latency_ms": float(latencies_ms.mean()),
            "hw_p95_ms": float(np.quantile(latencies_ms, P95)),
            "hw_service_ms": 1e3 * load.service_s,
            "hw_cpu_utilisation": sum(cpu_s for (cpu_s,) in observed.cpu_s) / (ALONE_S * len(pools.cpus)),
            "hw_rate_qps": load.rate_qps,
        }
    return found


def measure_pairs(
    pools: Pools,
    machine: str,
    loads: Mapping[str, SteadyLoad],
    alone: Mapping[str, Mapping[str, float]],
    rng: np.random.Generator,
) -> Measurements:
    """All pairs of different variants, on each CPU once: 95th percentiles of the latency, alone and together."""
    pairs = list(combinations(loads, 2))
    runs = []
    rounds = [[pairs[index] for index in rng.permutation(len(pairs))] for _ in pools.cpus]
    for beside in zip(*rounds, strict=True):
        observed = pools.observe([[_query(loads[name], PAIR_S, rng) for name in pair] for pair in beside])
        for pair, latencies_s in zip(beside, observed.latencies_s, strict=True):
            together_ms = tuple(1e3 * float(np.quantile(own, P95)) for own in latencies_s)
            runs.append(
                Run(Configuration(machine, pair), tuple(alone[name]["hw_p95_ms"] for name in pair), together_ms)
            )
    return Measurements(tuple(runs))


def learn(
    pools: Pools,
    roles: Sequence[Role],
    utilisation: Mapping[str, float],
    architecture: Mapping[str, Mapping[str, float]],
    rng: np.random.Generator,
    on_step: Callable[[str], object],
) -> Known:
    """Measure all variants, alone and in pairs, under the load at which each has its ``utilisation`` alone."""
    machine = machine_type("cpu", 1)
    on_step("each variant alone")
    loads = measure_loads(pools, roles, utilisation, rng)
    alone = measure_alone(pools, loads, rng)
    on_step("pairs of variants on one CPU")
    pairs = measure_pairs(pools, machine, loads, alone, rng)
    return Known(
        machine, loads, alone, pairs, VariantTable({(machine, name): own for name, own in alone.items()}, architecture)
    )


def _query(load: SteadyLoad, window_s: float, rng: np.random.Generator) -> Query:
    return Query(load.role, arrivals_s(load.rate_qps, window_s, rng))

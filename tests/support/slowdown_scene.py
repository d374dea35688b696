"""Measurements by a law that is known, for predictors to learn."""

from collections.abc import Iterable
from itertools import combinations, combinations_with_replacement

import numpy as np

from predictor.configuration import Configuration
from predictor.measurements import Measurements, Run
from predictor.variant_table import VariantTable

NAMES = tuple(f"v{number}" for number in range(7))
MACHINES = {"small": 1.0, "middle": 0.6, "large": 0.3}
DEMAND = dict(zip(NAMES, (0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 1.0), strict=True))


def slowdown(machine: str, variants: Iterable[str]) -> tuple[float, ...]:
    """1 + what the others ask for, more where a variant asks for much itself, less on larger machines."""
    own = list(variants)
    total = sum(DEMAND[each] for each in own)
    return tuple(1 + MACHINES[machine] * (0.3 + DEMAND[each]) * (total - DEMAND[each]) for each in own)


def run(
    machine: str, variants: Iterable[str], slowdowns: Iterable[float] | float, alone_ms: Iterable[float] | float = 10.0
) -> Run:
    """One run by hand; a single number holds for every variant."""
    own = tuple(variants)
    alone = tuple(np.broadcast_to(np.array(alone_ms, dtype=float), len(own)).tolist())
    factors = np.broadcast_to(np.array(slowdowns, dtype=float), len(own)).tolist()
    return Run(Configuration(machine, own), alone, tuple(a * f for a, f in zip(alone, factors, strict=True)))


def measured(
    machines: Iterable[str] = MACHINES, triples: int = 25, noise: float = 0.0, repeats: int = 0, seed: int = 0
) -> Measurements:
    """All pairs and some triples on each machine type; the first ``repeats`` configurations of each twice."""
    rng = np.random.default_rng(seed)
    pairs = list(combinations_with_replacement(NAMES, 2))
    runs = []
    for machine in machines:
        all_triples = list(combinations(NAMES, 3))
        chosen = [all_triples[i] for i in rng.permutation(len(all_triples))[:triples]]
        own = [*pairs, *chosen]
        for variants in [*own, *own[:repeats]]:
            alone_ms = tuple(10 * DEMAND[each] for each in variants)
            factors = np.array(slowdown(machine, variants)) * np.exp(rng.normal(0, noise, len(variants)))
            together_ms = tuple(float(a * f) for a, f in zip(alone_ms, factors, strict=True))
            runs.append(Run(Configuration(machine, variants), alone_ms, together_ms))
    return Measurements(tuple(runs))


def table(machines: Iterable[str] = MACHINES) -> VariantTable:
    """Metrics that tell what each variant asks for."""
    hardware = {
        (machine, name): {"hw_utilisation": DEMAND[name] * MACHINES[machine], "hw_latency_ms": 10 * DEMAND[name]}
        for machine in machines
        for name in NAMES
    }
    architecture = {name: {"arch_flops": 1e6 * 10 ** (2 * DEMAND[name]), "arch_depth": 3.0} for name in NAMES}
    return VariantTable(hardware, architecture)


def write_files(folder: object, measurements: Measurements, known: VariantTable) -> tuple[str, str]:
    """Both as CSV files of the documented columns; gives their paths."""
    lines = ["configuration,machine,variant,alone_ms,together_ms"]
    for number, run in enumerate(measurements):
        for variant, alone, together in zip(run.configuration.variants, run.alone_ms, run.together_ms, strict=True):
            lines.append(f"c{number},{run.configuration.machine},{variant},{alone!r},{together!r}")
    hardware, architecture = known.hardware_columns, known.architecture_columns
    rows = [",".join(("variant", "machine", *hardware, *architecture))]
    for (machine, variant), metrics in known.hardware.items():
        values = [metrics.get(name, "") for name in hardware]
        values += [known.architecture.get(variant, {}).get(name, "") for name in architecture]
        rows.append(",".join(map(str, (variant, machine, *values))))
    first, second = f"{folder}/measurements.csv", f"{folder}/variants.csv"
    for path, text in ((first, lines), (second, rows)):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(text) + "\n")
    return first, second

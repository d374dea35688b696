"""A predictor of many variants on machines of seven types, trained on a synthetic law: for times and not for errors."""

from collections.abc import Sequence

import numpy as np

from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.measurements import Measurements, Run
from predictor.predictor import SlowdownPredictor
from predictor.training import fit
from predictor.variant_table import VariantTable

RESOURCES = 4
"""Metrics of a variant alone: what it uses of each resource."""
MEASURED = 1000
MOST_TOGETHER = 4


def synthetic_predictor(
    variants: Sequence[str], machines: Sequence[str], kind: str, rng: np.random.Generator
) -> SlowdownPredictor:
    """Trained on as many random configurations as somebody may measure.

    Variants take as much longer as the resource that is short on the machine is asked for more than there is of it.
    """
    use = {variant: rng.uniform(0.0, 1.0, RESOURCES) for variant in variants}
    capacity = {machine: rng.uniform(1.0, 3.0, RESOURCES) for machine in machines}
    hardware = {
        (machine, variant): {f"hw_{number}": float(each) for number, each in enumerate(use[variant])}
        for machine in machines
        for variant in variants
    }
    names = np.array(variants)
    runs = []
    for _ in range(MEASURED):
        machine = str(rng.choice(machines))
        own = tuple(rng.choice(names, rng.integers(2, MOST_TOGETHER + 1)).tolist())
        slowdown = max(1.0, float((sum(use[variant] for variant in own) / capacity[machine]).max()))
        together_ms = tuple(10.0 * slowdown * rng.lognormal(0.0, 0.02) for _ in own)
        runs.append(Run(Configuration(machine, own), (10.0,) * len(own), together_ms))
    return fit(examples_of(Measurements(tuple(runs))), VariantTable(hardware), kind)

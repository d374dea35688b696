"""Learned encodings of machine types against one-hot ones, where little was measured on one type (Table 2)."""

from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.interference.accuracy import OnStep
from benchmarks.interference.learned import learned_examples
from predictor.examples import examples_of
from predictor.kinds import FOREST
from predictor.measurements import Measurements
from predictor.models.gaussian_process_fit import fit_gaussian_process
from predictor.models.trees import fit_trees
from predictor.scores import mean_absolute_error
from predictor.variant_table import VariantTable

PROBED = 0.1
LEAST_PROBES = 4
"""Of a machine type that is left out, so many configurations are measured all the same, for its encoding."""


def machine_types(measurements: Measurements, table: VariantTable, seed: int, on_step: OnStep) -> dict[str, Any] | None:
    """Each machine type left out in turn; errors on the configurations there that were not measured.

    Both encodings have the same measurements. ``forest_without_probes`` is the paper's own comparison: the forest
    learns from the other machine types alone, and only the learned encoding has seen the probes. None with fewer than
    three machine types.
    """
    if len(measurements.machines) < 3:
        return None
    errors: dict[str, dict[str, list[float]]] = {}
    for machine in measurements.machines:
        on_step(f"without {machine}")
        for name, encoding, error in _errors_on(machine, measurements, table, seed):
            errors.setdefault(name, {}).setdefault(encoding, []).append(error)
    return {name: compared(fmean(own["one_hot"]), fmean(own["learned"])) for name, own in errors.items()} | {
        "probed_share": PROBED,
        "paper_lower_pct": 32.0,
    }


def compared(one_hot: float, learned: float) -> dict[str, float | None]:
    """Errors of both encodings, and how much lower that of the learned one is; None where the other one has none."""
    lower_pct = 100 * (1 - learned / one_hot) if one_hot else None
    return {"one_hot_mae": one_hot, "learned_mae": learned, "lower_pct": lower_pct}


def _errors_on(
    machine: str, measurements: Measurements, table: VariantTable, seed: int
) -> list[tuple[str, str, float]]:
    own = [each for each in measurements.repeats if each.machine == machine]
    elsewhere = [each for each in measurements.repeats if each.machine != machine]
    order = np.random.default_rng(seed).permutation(len(own))
    count = max(LEAST_PROBES, round(PROBED * len(own)))
    probes, held_out = [own[i] for i in order[:count]], [own[i] for i in order[count:]]
    if not held_out:
        return []
    known = learned_examples(measurements.only(probes + elsewhere), seed)
    others = learned_examples(measurements.only(elsewhere), seed)
    truth = examples_of(measurements.only(held_out))
    learned = fit_gaussian_process(known, table, encoding="learned", seed=seed)
    one_hot = fit_gaussian_process(known, table, encoding="one_hot", seed=seed)
    encodings = {
        name: tuple(float(each) for each in point)
        for name, point in zip(learned.machines, learned.encodings, strict=True)
    }
    forests = {
        "forest": (known, known),
        "forest_without_probes": (others, others),
    }
    found = [
        ("gaussian_process", "learned", mean_absolute_error(learned, truth)),
        ("gaussian_process", "one_hot", mean_absolute_error(one_hot, truth)),
    ]
    for name, (for_learned, for_one_hot) in forests.items():
        by_encoding = fit_trees(for_learned, table, FOREST, encodings=encodings, seed=seed)
        found.append((name, "learned", mean_absolute_error(by_encoding, truth)))
        plain = fit_trees(for_one_hot, table, FOREST, seed=seed)
        found.append((name, "one_hot", mean_absolute_error(plain, truth)))
    return found

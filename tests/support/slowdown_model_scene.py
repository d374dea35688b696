"""A trained predictor of slowdowns that are simple to tell."""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from pathlib import Path

from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.kinds import FOREST
from predictor.measurements import Measurements, Run
from predictor.model_file import Model, ModelCard
from predictor.models.trees import fit_trees
from predictor.variant_table import VariantTable

PAIR, TRIPLE = 1.4, 1.8
"""Every variant's slowdown beside one other, and beside two, on the machine type `MACHINE`."""

MACHINE = "a machine of its own"


def saved_model(path: Path, variants: Sequence[str], machine: str = MACHINE) -> Path:
    """A forest that learned `PAIR` and `TRIPLE` from every pair and triple."""
    runs = tuple(
        Run(Configuration(machine, together), (10.0,) * degree, (10.0 * slowdown,) * degree)
        for degree, slowdown in ((2, PAIR), (3, TRIPLE))
        for together in combinations_with_replacement(sorted(variants), degree)
    )
    forest = fit_trees(examples_of(Measurements(runs)), VariantTable(), FOREST)
    card = ModelCard(FOREST, (machine,), tuple(variants), (2, 3), len(runs), 0.2)
    Model(forest, card).save(path)
    return path

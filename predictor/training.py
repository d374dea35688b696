"""Trains predictors, and chooses the kind that predicts best what it has not seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np

from catalog.errors import ConfigError
from predictor.examples import Examples, examples_of
from predictor.kinds import GAUSSIAN_PROCESS, KINDS, TREE_KINDS
from predictor.measurements import Measurements
from predictor.models.separate import fit_separate
from predictor.models.trees import fit_trees
from predictor.predictor import SlowdownPredictor
from predictor.splits import folds
from predictor.variant_table import VariantTable

FOLDS = 4
LEAST_CONFIGURATIONS = 8
"""With fewer there is nothing to choose a kind by, and next to nothing to learn."""


@dataclass(frozen=True)
class Trained:
    """A predictor, its kind, and the mean absolute error that each kind had on configurations held out in turn."""

    predictor: SlowdownPredictor
    kind: str
    errors: Mapping[str, float]


def fit(
    examples: Examples,
    table: VariantTable,
    kind: str,
    *,
    columns: Sequence[str] | None = None,
    seed: int = 0,
) -> SlowdownPredictor:
    """One predictor for all machine types and degrees. Raises `ConfigError` for an unknown kind."""
    if kind == GAUSSIAN_PROCESS:
        from predictor.models.gaussian_process_fit import fit_gaussian_process  # with torch

        return fit_gaussian_process(examples, table, columns=columns, seed=seed)
    if kind in TREE_KINDS:
        return fit_trees(examples, table, kind, columns=columns, seed=seed)
    raise ConfigError(f"predictor kind {kind!r} is unknown; use one of {', '.join(KINDS)}")


def cross_validated_error(
    measurements: Measurements, fitted: Callable[[Examples], SlowdownPredictor], seed: int
) -> float:
    """The mean absolute error on configurations that are held out in turn."""
    off: list[float] = []
    for training, held_out in folds(measurements, FOLDS, seed):
        truth = examples_of(measurements.only(held_out))
        predictor = fitted(examples_of(training))
        off += np.abs(predictor.slowdowns(truth.configurations) - truth.slowdown).tolist()
    return fmean(off)


def train(
    measurements: Measurements,
    table: VariantTable,
    *,
    kinds: Sequence[str] = KINDS,
    columns: Sequence[str] | None = None,
    separate: bool = False,
    seed: int = 0,
    on_progress: Callable[[float], None] | None = None,
) -> Trained:
    """Cross-validate each of ``kinds`` by configuration, and fit the best one to all measurements.

    ``columns`` are the metrics to go by, None takes all. With ``separate`` each machine type and degree has a predictor
    of its own. ``on_progress`` hears of the share of fits that are done, 0 to 1. Raises `ConfigError` for an
    unknown kind, and where there are fewer than `LEAST_CONFIGURATIONS` configurations.
    """
    found = len(measurements.repeats)
    if found < LEAST_CONFIGURATIONS:
        raise ConfigError(
            f"{found} configurations are too few to learn from; measure at least {LEAST_CONFIGURATIONS} "
            "with `accord interference measure`"
        )
    fits = FOLDS * len(kinds) + 1 if len(kinds) > 1 else 1
    done = 0

    def fitted(examples: Examples, kind: str) -> SlowdownPredictor:
        nonlocal done
        made = (
            fit_separate(examples, lambda own: fit(own, table, kind, columns=columns, seed=seed))
            if separate
            else fit(examples, table, kind, columns=columns, seed=seed)
        )
        done += 1
        if on_progress is not None:
            on_progress(done / fits)
        return made

    errors: dict[str, float] = {}
    if len(kinds) > 1:
        errors = {kind: cross_validated_error(measurements, partial(fitted, kind=kind), seed) for kind in kinds}
    best = min(kinds, key=lambda kind: errors.get(kind, 0.0))
    return Trained(fitted(examples_of(measurements), best), best, errors)

"""How many configurations have to be measured: chosen by the predictor, or at random (section 5, Figure 6)."""

from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.interference.accuracy import OnStep
from predictor.active import MOST_ROWS, next_configurations
from predictor.configuration import Configuration
from predictor.examples import Examples, examples_of
from predictor.measurements import Measurements
from predictor.scores import mean_absolute_error
from predictor.splits import sample, split
from predictor.training import fit
from predictor.variant_table import VariantTable

TARGET_SHARE = 2 / 3
"""The error to reach is what random choice has there: near the end both have measured everything."""

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, TARGET_SHARE, 0.8, 1.0)
"""Of all that could be measured, at which errors are taken; the first is drawn at random for both."""

PER_ROUND_SHARE = 0.05
"""After so much more was measured, what to measure next is chosen anew."""

DRAWS = 20
LEAST = 6

MOST_EXAMPLES = MOST_ROWS
"""Of more measurements a sample is taken: a predictor that learns from some of them only is as good with few
configurations as with many, and choosing compares no more."""


def learning_curves(
    measurements: Measurements, table: VariantTable, kind: str, seed: int, on_step: OnStep
) -> dict[str, Any]:
    """Mean errors over several splits into what can be measured (70%) and what is predicted, for predictors of a kind.

    ``saving_pct`` is how many fewer configurations active choice takes for the error that random choice has with two
    thirds of them; ``savings_pct`` has the same for the other sizes. Of measurements with more than `MOST_EXAMPLES` a
    sample is taken; ``sampled_configurations`` are those it has, or all.
    """
    measurements = measurements.only(sample(list(measurements.repeats), MOST_EXAMPLES, seed))
    random_mae: list[list[float]] = []
    active_mae: list[list[float]] = []
    sizes: list[int] = []
    shuffled: list[Configuration] = []
    for draw in range(DRAWS):
        pool, test = split(measurements, seed + draw)
        truth = examples_of(test)
        rng = np.random.default_rng(seed + draw)
        shuffled = [list(pool.repeats)[i] for i in rng.permutation(len(pool.repeats))]
        sizes = sorted({_size(share, shuffled) for share in SHARES})
        on_step(f"random choice, draw {draw + 1} of {DRAWS}")
        random_mae.append([_error(pool, shuffled[:size], truth, table, kind, seed) for size in sizes])
        on_step(f"active choice, draw {draw + 1} of {DRAWS}")
        active_mae.append(_active(pool, shuffled, sizes, truth, table, kind, seed))
    by_random = [fmean(each) for each in zip(*random_mae, strict=True)]
    by_active = [fmean(each) for each in zip(*active_mae, strict=True)]
    savings = [
        100 * (1 - needed / size) if (needed := _needed(sizes, by_active, error)) is not None else None
        for size, error in zip(sizes, by_random, strict=True)
    ]
    return {
        "configurations": sizes,
        "random_mae": by_random,
        "active_mae": by_active,
        "savings_pct": savings,
        "saving_pct": savings[sizes.index(_size(TARGET_SHARE, shuffled))],
        "draws": DRAWS,
        "sampled_configurations": len(measurements.repeats),
    }


def _size(share: float, pool: list[Configuration]) -> int:
    return max(LEAST, round(share * len(pool)))


def _active(
    pool: Measurements,
    shuffled: list[Configuration],
    sizes: list[int],
    truth: Examples,
    table: VariantTable,
    kind: str,
    seed: int,
) -> list[float]:
    measured = shuffled[: sizes[0]]
    per_round = max(1, round(PER_ROUND_SHARE * len(shuffled)))
    predictor = fit(examples_of(pool.only(measured)), table, kind, seed=seed)
    errors = []
    for size in sizes:
        while len(measured) < size:
            known = set(measured)
            left = [each for each in shuffled if each not in known]
            count = min(per_round, size - len(measured))
            measured = measured + next_configurations(predictor, left, count, seed, measured)
            predictor = fit(examples_of(pool.only(measured)), table, kind, seed=seed)
        errors.append(mean_absolute_error(predictor, truth))
    return errors


def _error(
    pool: Measurements, measured: list[Configuration], truth: Examples, table: VariantTable, kind: str, seed: int
) -> float:
    return mean_absolute_error(fit(examples_of(pool.only(measured)), table, kind, seed=seed), truth)


def _needed(sizes: list[int], errors: list[float], error: float) -> float | None:
    """Configurations after which the curve stays at ``error`` or below it, between two sizes in proportion."""
    if errors[-1] > error:
        return None
    last = max((i for i, each in enumerate(errors) if each > error), default=None)
    if last is None:
        return float(sizes[0])
    share = (errors[last] - error) / (errors[last] - errors[last + 1])
    return sizes[last] + share * (sizes[last + 1] - sizes[last])

"""Training and test configurations: all runs of a configuration are on the same side."""

from collections.abc import Iterator

import numpy as np

from predictor.configuration import Configuration
from predictor.measurements import Measurements

TRAINING_SHARE = 0.7
"""The paper's split (section 3.1)."""


def split(measurements: Measurements, seed: int) -> tuple[Measurements, Measurements]:
    """Training and test measurements, `TRAINING_SHARE` of the configurations and the others, drawn by ``seed``."""
    configurations = list(measurements.repeats)
    order = np.random.default_rng(seed).permutation(len(configurations))
    border = round(TRAINING_SHARE * len(order))
    training, test = ([configurations[i] for i in numbers] for numbers in (order[:border], order[border:]))
    return measurements.only(training), measurements.only(test)


def folds(
    measurements: Measurements, count: int, seed: int
) -> Iterator[tuple[Measurements, tuple[Configuration, ...]]]:
    """For each fold all measurements but its configurations, and these; each configuration is in one fold."""
    configurations = list(measurements.repeats)
    order = np.random.default_rng(seed).permutation(len(configurations))
    for number in range(min(count, len(order))):
        held_out = tuple(configurations[i] for i in order[number::count])
        without = set(held_out)
        yield measurements.only([each for each in configurations if each not in without]), held_out

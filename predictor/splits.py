"""Training and test configurations, and samples: all runs of a configuration are on the same side."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

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


def sample(configurations: Sequence[Configuration], most_examples: int, seed: int) -> list[Configuration]:
    """Configurations with at most so many examples together, in the order given; all, where there are no more.

    They are drawn by ``seed``, the same number of examples for each machine type. A type with fewer is taken whole, and
    what it leaves goes to the larger ones.
    """
    if sum(each.degree for each in configurations) <= most_examples:
        return list(configurations)
    rng = np.random.default_rng(seed)
    by_machine: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(configurations):
        by_machine[each.machine].append(number)
    smallest_first = sorted(by_machine.values(), key=lambda own: sum(configurations[i].degree for i in own))
    left = most_examples
    kept: list[int] = []
    for done, numbers in enumerate(smallest_first):
        share = left // (len(smallest_first) - done)
        drawn = rng.permutation(numbers)
        ends = np.cumsum([configurations[i].degree for i in drawn])
        count = int(np.searchsorted(ends, share, side="right"))
        kept += drawn[:count].tolist()
        left -= int(ends[count - 1]) if count else 0
    return [configurations[i] for i in sorted(kept)]

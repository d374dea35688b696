"""Measurements as examples to learn from."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor.configuration import Configuration
from predictor.measurements import Measurements


@dataclass(frozen=True)
class Examples:
    """One example for each variant of each configuration, which are in the order of their names.

    ``slowdown`` is the mean over the repeats of a configuration, ``repeats`` how many there were: shape [examples].
    ``configurations`` has each configuration once; its examples follow one another.
    """

    configurations: tuple[Configuration, ...]
    slowdown: NDArray[np.float64]
    repeats: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.slowdown)

    def only(self, configurations: Collection[Configuration]) -> "Examples":
        """Those of these configurations, whose variants are in the order of their names."""
        wanted = set(configurations)
        kept = tuple(each for each in self.configurations if each in wanted)
        rows = np.repeat(
            np.array([each in wanted for each in self.configurations], dtype=np.bool_),
            np.array([each.degree for each in self.configurations], dtype=np.int64),
        )
        return Examples(kept, self.slowdown[rows], self.repeats[rows])


def examples_of(measurements: Measurements) -> Examples:
    """All configurations, each with what its repeats come to."""
    means, counts = [np.zeros(0)], [np.zeros(0)]
    for runs in measurements.repeats.values():
        slowdowns = np.array([run.slowdown for run in runs])
        means.append(slowdowns.mean(axis=0))
        counts.append(np.full(slowdowns.shape[1], float(len(runs))))
    return Examples(tuple(measurements.repeats), np.concatenate(means), np.concatenate(counts))

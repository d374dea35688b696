"""Configurations as numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predictor.configuration import Configuration

Indices = NDArray[np.int64]


class Positions(NamedTuple):
    """One row for each variant of each configuration: itself, its machine type, and the others beside it.

    ``others`` [rows, most others] is in order, filled up with the number of nobody.
    """

    variant: Indices
    machine: Indices
    others: Indices


class ExamplesIndex:
    """Numbers for variants and machine types; one number beyond them stands for all that are unknown."""

    def __init__(self, variants: Sequence[str], machines: Sequence[str]) -> None:
        self._variants = {name: number for number, name in enumerate(variants)}
        self._machines = {name: number for number, name in enumerate(machines)}
        self._unknown = len(variants)
        self.nobody = len(variants) + 1

    def positions(self, configurations: Sequence[Configuration]) -> Positions:
        """The rows of these configurations, one configuration after the other."""
        most = max((configuration.degree for configuration in configurations), default=1)
        variant: list[int] = []
        machine: list[int] = []
        others: list[list[int]] = []
        for name, variants in configurations:
            numbers = [self._variants.get(each, self._unknown) for each in variants]
            kind = self._machines.get(name, len(self._machines))
            filler = [self.nobody] * (most - len(numbers))
            for position, number in enumerate(numbers):
                variant.append(number)
                machine.append(kind)
                others.append(sorted(numbers[:position] + numbers[position + 1 :]) + filler)
        shape = (len(variant), most - 1)
        return Positions(
            np.array(variant, dtype=np.int64),
            np.array(machine, dtype=np.int64),
            np.array(others, dtype=np.int64).reshape(shape),
        )

    def counts(self, others: Indices) -> NDArray[np.float64]:
        """How often each variant is among the others: shape [rows, variants + 1]."""
        found = np.zeros((len(others), self.nobody + 1))
        for column in others.T:
            found[np.arange(len(others)), column] += 1.0
        return found[:, : self.nobody]

    def sums(self, of_variants: NDArray[np.float64], others: Indices) -> NDArray[np.float64]:
        """Rows of ``of_variants`` [variants + 1, columns], added up over the others of each row: [rows, columns]."""
        padded = np.vstack([of_variants, np.zeros((1, of_variants.shape[1]))])
        total = np.zeros((len(others), of_variants.shape[1]))
        for column in others.T:
            total += padded[column]
        return total

"""Configurations as rows of numbers for trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from predictor.configuration import Configuration
from predictor.models.examples_index import ExamplesIndex
from predictor.variant_table import VariantTable

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TreeFeatures:
    """Rows of: degree, own metrics, sum and maximum of the others' and sum of all metrics, machine type encoding.

    ``encodings`` has the numbers that stand for a machine type. A machine type without any is the mean of all, a
    variant without some metric on a machine type is the mean of the others there, and where nobody has it there, the
    mean of all machine types.
    """

    table: VariantTable
    columns: tuple[str, ...]
    encodings: Mapping[str, tuple[float, ...]]

    def rows(self, configurations: Sequence[Configuration]) -> Array:
        """One row for each variant of each configuration: shape [variants of all configurations, features]."""
        positions = self._index.positions(configurations)
        own = self._metrics[positions.machine, positions.variant]
        others = self._metrics[positions.machine[:, None], positions.others]  # [rows, most others, metrics]
        there = positions.others != self._index.nobody
        total = np.where(there[:, :, None], others, 0.0).sum(axis=1)
        most = np.where(there[:, :, None], others, -np.inf).max(axis=1, initial=-np.inf)
        most = np.where(np.isfinite(most), most, 0.0)
        degree = 1.0 + there.sum(axis=1)
        return np.column_stack([degree, own, total, most, own + total, self._encodings[positions.machine]])

    @cached_property
    def _variants(self) -> tuple[str, ...]:
        return tuple(sorted({variant for _, variant in self.table.hardware} | self.table.architecture.keys()))

    @cached_property
    def _machines(self) -> tuple[str, ...]:
        return tuple(sorted(self.encodings))

    @cached_property
    def _index(self) -> ExamplesIndex:
        return ExamplesIndex(self._variants, self._machines)

    @cached_property
    def _encodings(self) -> Array:
        known = np.array([self.encodings[machine] for machine in self._machines], dtype=np.float64)
        return np.vstack([known, known.mean(axis=0)])

    @cached_property
    def _metrics(self) -> Array:
        """Shape [machines + 1, variants + 2, metrics]; the last variant, which is nobody, is not used."""
        found = np.full((len(self._machines) + 1, len(self._variants) + 2, len(self.columns)), np.nan)
        for i, machine in enumerate(self._machines):
            for j, variant in enumerate(self._variants):
                known = {**self.table.hardware.get((machine, variant), {}), **self.table.architecture.get(variant, {})}
                found[i, j] = [known.get(name, np.nan) for name in self.columns]
        filled = _filled(found[:-1], axis=1)
        everywhere = _filled(filled, axis=0)
        last = _mean(everywhere, axis=0)
        made: Array = np.concatenate([everywhere, last[None]])
        return np.nan_to_num(made, nan=0.0)


def _mean(values: Array, axis: int) -> Array:
    known = np.isfinite(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    made: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return made


def _filled(values: Array, axis: int) -> Array:
    return np.where(np.isfinite(values), values, np.expand_dims(_mean(values, axis), axis))

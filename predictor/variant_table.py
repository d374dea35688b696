"""What is known of variants before they run together: metrics alone by machine, and of their architecture."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

import numpy as np

from predictor.table_file import numbers_of, read_table, refuse

NAMES = ("variant", "machine")

HARDWARE, ARCHITECTURE = "hw_", "arch_"
"""Prefixes of columns: metrics of a variant alone on a machine, and of its architecture, the same on every machine."""


HIGHEST = 1e30
"""Of metrics: models reckon with sums of them as 32-bit numbers, and with squares as 64-bit ones."""


@dataclass(frozen=True)
class VariantTable:
    """By machine and variant the ``hw_`` metrics, by variant the ``arch_`` ones; absent where nothing is known."""

    hardware: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    architecture: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def hardware_columns(self) -> tuple[str, ...]:
        """All ``hw_`` metrics that some variant has, in the order of their names."""
        return tuple(sorted({name for known in self.hardware.values() for name in known}))

    @property
    def architecture_columns(self) -> tuple[str, ...]:
        """All ``arch_`` metrics that some variant has, in the order of their names."""
        return tuple(sorted({name for known in self.architecture.values() for name in known}))


def read_variants(path: Path) -> VariantTable:
    """Read a Parquet file or a CSV with the columns variant, machine, and any number of ``hw_*`` and ``arch_*``.

    Empty cells are unknown; of several rows with the same variant and machine the last one that has a metric counts.
    Raises `ConfigError` where the file cannot be read, lacks a column, has an empty name, or a metric that is no finite
    number of a size that can be reckoned with.
    """
    table = read_table(path, "variants", NAMES, (*NAMES, f"{HARDWARE}*", f"{ARCHITECTURE}*"))
    metrics = [name for name in map(str, table.columns) if name.startswith((HARDWARE, ARCHITECTURE))]
    for name in metrics:
        values = numbers_of(table, name)
        there = table[name].notna().to_numpy()
        refuse(path, table, name, there & ~np.isfinite(values), "a finite number, or leave it empty")
        refuse(path, table, name, there & (np.abs(values) > HIGHEST), f"a number from -{HIGHEST:g} to {HIGHEST:g}")
        table[name] = values
    hardware: dict[tuple[str, str], dict[str, float]] = {}
    architecture: dict[str, dict[str, float]] = {}
    for row in table.to_dict("records"):
        variant, machine = row["variant"], row["machine"]
        known = {name: float(row[name]) for name in metrics if isfinite(row[name])}
        hardware.setdefault((machine, variant), {}).update(
            {name: value for name, value in known.items() if name.startswith(HARDWARE)}
        )
        architecture.setdefault(variant, {}).update(
            {name: value for name, value in known.items() if name.startswith(ARCHITECTURE)}
        )
    return VariantTable(hardware, architecture)

"""What is known of variants before they run together: metrics alone by machine, and of their architecture."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from catalog.errors import ConfigError
from catalog.extras import require

HARDWARE, ARCHITECTURE = "hw_", "arch_"
"""Prefixes of columns: metrics of a variant alone on a machine, and of its architecture, the same on every machine."""


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

    Empty cells are unknown. Raises `ConfigError` where the file cannot be read, lacks a column, or has a metric that
    is no number.
    """
    require("interference", f"reading {path}")
    import pandas as pd

    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read variants {path}: {error}; give a Parquet or a CSV file") from error
    missing = [column for column in ("variant", "machine") if column not in table.columns]
    if missing:
        raise ConfigError(f"{path} has no column {', '.join(missing)}; variants have variant, machine, hw_* and arch_*")
    metrics = [name for name in table.columns if name.startswith((HARDWARE, ARCHITECTURE))]
    for name in metrics:
        numbers = pd.to_numeric(table[name], errors="coerce")
        wrong = table[numbers.isna() & table[name].notna()]
        if len(wrong):
            raise ConfigError(f"{path}: {name} is {wrong[name].iloc[0]!r} in row {wrong.index[0] + 1}; give a number")
        table[name] = numbers
    hardware: dict[tuple[str, str], dict[str, float]] = {}
    architecture: dict[str, dict[str, float]] = {}
    for row in table.to_dict("records"):
        variant, machine = str(row["variant"]), str(row["machine"])
        known = {name: float(row[name]) for name in metrics if row[name] == row[name]}
        hardware[machine, variant] = {name: value for name, value in known.items() if name.startswith(HARDWARE)}
        architecture.setdefault(variant, {}).update(
            {name: value for name, value in known.items() if name.startswith(ARCHITECTURE)}
        )
    return VariantTable(hardware, architecture)

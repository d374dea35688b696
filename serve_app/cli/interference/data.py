"""The files that commands of ``accord interference`` read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from predictor.measurements import Measurements, read_measurements
from predictor.variant_table import VariantTable, read_variants

MeasurementsOption = Annotated[
    Path, typer.Option(help="Parquet or CSV: configuration, machine, variant, alone_ms, together_ms.")
]
VariantsOption = Annotated[Path, typer.Option(help="Parquet or CSV: variant, machine, hw_*, arch_*.")]


@dataclass(frozen=True)
class Data:
    """Measurements, and what is known of their variants."""

    measurements: Measurements
    table: VariantTable


def read_data(measurements: Path, variants: Path) -> Data:
    """Both files; raises `ConfigError` for what is wrong with them."""
    return Data(read_measurements(measurements), read_variants(variants))

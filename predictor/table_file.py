"""Tables that people give as files: Parquet or CSV, with names in some columns and numbers in others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.extras import require

PARQUET = b"PAR1"
"""What a Parquet file begins with."""


def read_table(path: Path, what: str, names: Sequence[str], columns: Sequence[str]) -> Any:
    """The file as a pandas table; what stands in the columns ``names`` is text, whether it looks like a number or not.

    Parquet is known by its first bytes, and by the name ``.parquet``; in a CSV no name but an empty one is missing.
    ``what`` the file holds is for people to read, and so are ``columns``, all that it may have. Raises `ConfigError`
    where it cannot be read, lacks one of ``columns`` that is no pattern such as ``hw_*``, or has a name that is empty.
    """
    require("interference", f"reading {path}")
    import pandas as pd

    try:
        table = (
            pd.read_parquet(path)
            if _is_parquet(path)
            else pd.read_csv(path, converters=dict.fromkeys(names, str), low_memory=False)
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {what} {path}: {error}; give a Parquet or a CSV file") from error
    missing = [column for column in columns if not column.endswith("*") and column not in table.columns]
    if missing:
        raise ConfigError(f"{path} has no column {', '.join(missing)}; {what} have the columns {', '.join(columns)}")
    for column in names:
        named = table[column].astype(str).str.strip().where(table[column].notna(), "")
        empty = np.flatnonzero(named == "")
        if len(empty):
            raise ConfigError(f"{path}: {column} is empty in row {empty[0] + 1}; give a name")
        table[column] = named
    return table


def _is_parquet(path: Path) -> bool:
    """Whether it is, or by its name should be, one Parquet file, or a folder of several."""
    if path.is_dir() or path.suffix == ".parquet":
        return True
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def numbers_of(table: Any, column: str) -> NDArray[np.float64]:
    """A column as numbers, NaN where there is none: shape [rows]."""
    import pandas as pd

    numbers: NDArray[np.float64] = pd.to_numeric(table[column], errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return numbers


def refuse(path: Path, table: Any, column: str, wrong: NDArray[np.bool_], wanted: str) -> None:
    """Raise `ConfigError` for the first row where the value of the column is wrong; nothing where none is."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        value = table[column].iloc[rows[0]]
        shown = repr(value) if isinstance(value, str) else str(value)
        raise ConfigError(f"{path}: {column} is {shown} in row {rows[0] + 1}; give {wanted}")

"""A trace as a CSV file: its columns as numbers, with errors that name file, line and value."""

import csv
import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError

UNITS_PER_S = {"arrival_ms": 1e3, "arrival_s": 1.0}
"""Columns that may hold instants of arrival, one line per query, and how many of their units make a second."""


@dataclass(frozen=True)
class TraceFile:
    """The cells of a trace as text, without blank lines; ``lines`` has the number of each row's line in the file."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    @classmethod
    def read(cls, path: Path, wanted: str) -> "TraceFile":
        """Read a file, gzipped where its name ends in .gz; ``wanted`` says in errors which columns there should be."""
        opened = gzip.open if path.suffix == ".gz" else open
        try:
            with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file)
                numbered = [(row, reader.line_num) for row in reader if len(row) > 1 or "".join(row).strip()]
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
            raise ConfigError(
                f"cannot read trace {path}: {error}; give a CSV file, gzipped if it ends in .gz"
            ) from error
        if len(numbered) < 2:
            raise ConfigError(f"trace {path} holds no data; give a header line with {wanted}, and lines below it")
        header, *rows = (row for row, _ in numbered)
        header = [name.strip() for name in header]  # "time_s, load_qps" has a space before the second
        return cls(path, header, rows=rows, lines=[line for _, line in numbered[1:]])

    def fault(self, row: int, message: str) -> ConfigError:
        """An error about the row of that index."""
        return ConfigError(f"trace {self.path}, line {self.lines[row]}: {message}")

    def text(self, name: str) -> list[str]:
        """A column as it is, without the space around it."""
        position = self.header.index(name)
        cells = []
        for index, row in enumerate(self.rows):
            cell = row[position].strip() if position < len(row) else ""
            if not cell:
                raise self.fault(index, f"{','.join(row)!r} has no {name}")
            cells.append(cell)
        return cells

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of finite numbers of at least 0."""
        position = self.header.index(name)
        values = np.empty(len(self.rows))
        for index, row in enumerate(self.rows):
            try:
                values[index] = float(row[position])
            except (ValueError, IndexError) as error:
                raise self.fault(index, f"{','.join(row)!r} has no number in {name}") from error
            if not 0 <= values[index] < np.inf:
                raise self.fault(index, f"{name} is {row[position]}; it must be finite and at least 0")
        return values

    def arrivals_s(self) -> NDArray[np.float64] | None:
        """Instants of arrival in seconds, ascending; None where the file has no column of them."""
        for name, units in UNITS_PER_S.items():
            if name in self.header:
                instants = self.numbers(name)
                if (backwards := np.flatnonzero(np.diff(instants) < 0)).size:
                    raise self.fault(int(backwards[0]) + 1, f"{name} goes back in time; sort the trace by it")
                return instants / units
        return None

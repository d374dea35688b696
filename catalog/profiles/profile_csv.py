"""Accuracy and latency profiles as CSV, in the columns of the RAMSIS artefact.

One row per variant and batch size: ``variant,accuracy_pct,batch_size,samples,mean_ms,...``.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile

_LATENCIES = tuple(field.name for field in fields(BatchLatency) if field.name != "samples")
COLUMNS = ("variant", "accuracy_pct", "batch_size", "samples", *_LATENCIES)
"""Header of a profile file."""

_MAY_BE_ZERO = ("accuracy_pct", "std_ms")
_HIGHEST = {"accuracy_pct": 100.0}


@dataclass(frozen=True)
class ProfiledVariant:
    """What a profile file says of one variant: accuracy in percent (0 to 100) and latency."""

    accuracy_pct: float
    profile: LatencyProfile


def write_profiles(path: Path, variants: Mapping[str, ProfiledVariant]) -> None:
    """Write variants by name; numbers keep 12 significant digits. The device is not part of the file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, variant in variants.items():
            for batch_size in variant.profile.batch_sizes:
                latency = variant.profile.by_batch[batch_size]
                numbers = [f"{getattr(latency, column):.12g}" for column in _LATENCIES]
                writer.writerow([name, f"{variant.accuracy_pct:.12g}", batch_size, latency.samples, *numbers])


def read_profiles(path: Path, device: str) -> dict[str, ProfiledVariant]:
    """Profiles by variant name, in the order of the file; ``device`` names what they were measured on.

    Raises `ConfigError` naming file, line, column and value where the file cannot be used.
    """
    accuracies_pct: dict[str, float] = {}
    latencies: dict[str, dict[int, BatchLatency]] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            _check_header(path, next(reader, []))
            for cells in reader:
                if cells:
                    _read_row(_Row(path, reader.line_num, cells), accuracies_pct, latencies)
    except OSError as error:
        raise ConfigError(f"cannot read profile file {path}: {error.strerror}; give the path of a CSV file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"profile file {path} is not CSV in UTF-8: {error}; save it as such") from error
    if not latencies:
        raise ConfigError(f"profile file {path} has no rows; profile at least one variant")
    return {
        name: ProfiledVariant(accuracies_pct[name], LatencyProfile(device, by_batch))
        for name, by_batch in latencies.items()
    }


def _check_header(path: Path, header: list[str]) -> None:
    if tuple(header) != COLUMNS:
        raise ConfigError(
            f"profile file {path}, line 1: the header is {','.join(header)!r}; it must be {','.join(COLUMNS)!r}"
        )


@dataclass(frozen=True)
class _Row:
    """One line of a file, with the cells as text."""

    path: Path
    line: int
    cells: list[str]

    def fault(self, column: str, value: object, remedy: str) -> ConfigError:
        return ConfigError(f"profile file {self.path}, line {self.line}, column {column}: {value!r}; {remedy}")

    def text(self, column: str) -> str:
        value = self.cells[COLUMNS.index(column)].strip()
        if not value:
            raise self.fault(column, value, "give a name")
        return value

    def whole(self, column: str) -> int:
        text = self.cells[COLUMNS.index(column)]
        try:
            value = int(text)
        except ValueError:
            value = 0
        if value < 1:
            raise self.fault(column, text, "give a whole number of at least 1")
        return value

    def number(self, column: str) -> float:
        text = self.cells[COLUMNS.index(column)]
        highest = _HIGHEST.get(column, np.inf)
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if column not in _MAY_BE_ZERO:
            if not 0.0 < value < np.inf:
                raise self.fault(column, text, "give a number above 0")
        elif not (np.isfinite(value) and 0.0 <= value <= highest):
            wanted = f"a number from 0 to {highest:g}" if np.isfinite(highest) else "a finite number of at least 0"
            raise self.fault(column, text, f"give {wanted}")
        return value


def _read_row(row: _Row, accuracies_pct: dict[str, float], latencies: dict[str, dict[int, BatchLatency]]) -> None:
    """Check one row and add it to both tables."""
    if len(row.cells) != len(COLUMNS):
        raise row.fault(COLUMNS[0], row.cells[0], f"the row has {len(row.cells)} cells; give {len(COLUMNS)}")
    name = row.text("variant")
    accuracy_pct = row.number("accuracy_pct")
    if accuracies_pct.setdefault(name, accuracy_pct) != accuracy_pct:
        remedy = f"earlier rows of {name!r} say {accuracies_pct[name]:g}; give one accuracy per variant"
        raise row.fault("accuracy_pct", row.cells[COLUMNS.index("accuracy_pct")], remedy)
    batch_size = row.whole("batch_size")
    by_batch = latencies.setdefault(name, {})
    if batch_size in by_batch:
        raise row.fault("batch_size", batch_size, f"{name!r} has this batch size twice; keep one row")
    by_batch[batch_size] = BatchLatency(row.whole("samples"), *(row.number(column) for column in _LATENCIES))

"""Accuracy and latency profiles as CSV, in the columns of the RAMSIS artefact.

One row per variant and batch size: ``variant,accuracy_pct,batch_size,samples,mean_ms,...``. Variants whose inputs may
be of any length have a row per length and batch size, and the length in one more column, ``length``; the length of a
variant's first row is the typical one, which stands for all where only one is looked at. A file without such variants
needs no such column, and others leave it empty.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np

from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile

_LATENCIES = tuple(field.name for field in fields(BatchLatency) if field.name != "samples")
COLUMNS = ("variant", "accuracy_pct", "batch_size", "samples", *_LATENCIES)
"""Header of a profile file."""

LENGTH = "length"
"""One more column, the last."""

_MAY_BE_ZERO = ("accuracy_pct", "std_ms")
_HIGHEST = {"accuracy_pct": 100.0}
_QUANTILES = ("p50_ms", "p90_ms", "p95_ms", "p99_ms")

HIGHEST_WHOLE = 2**31 - 1
"""Of batch sizes, lengths and counts of runs."""

_MOST_SHOWN = 40
"""Characters of a cell that an error repeats."""


Latencies = dict[str, dict[int, dict[int, BatchLatency]]]
"""By variant, length (0 for none) and batch size."""


@dataclass(frozen=True)
class ProfiledVariant:
    """What a profile file says of one variant: accuracy in percent (0 to 100) and latency."""

    accuracy_pct: float
    profile: LatencyProfile


def write_profiles(path: Path, variants: Mapping[str, ProfiledVariant]) -> None:
    """Write variants by name; numbers keep 12 significant digits. The device is not part of the file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        lengths = any(variant.profile.by_length for variant in variants.values())
        writer.writerow((*COLUMNS, LENGTH) if lengths else COLUMNS)
        for name, variant in variants.items():
            for profile in _typical_first(variant.profile):
                for batch_size in profile.batch_sizes:
                    latency = profile.by_batch[batch_size]
                    numbers = [f"{getattr(latency, column):.12g}" for column in _LATENCIES]
                    length = [profile.length or ""] if lengths else []
                    writer.writerow(
                        [name, f"{variant.accuracy_pct:.12g}", batch_size, latency.samples, *numbers, *length]
                    )


def _typical_first(profile: LatencyProfile) -> list[LatencyProfile]:
    """The profiles of all lengths."""
    others = [each for length, each in sorted(profile.by_length.items()) if length != profile.length]
    return [profile, *others]


def read_profiles(path: Path, device: str) -> dict[str, ProfiledVariant]:
    """Profiles by variant name, in the order of the file; ``device`` names what they were measured on.

    Raises `ConfigError` naming file, line, column and value where the file cannot be used.
    """
    accuracies_pct: dict[str, float] = {}
    latencies: Latencies = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            columns = _checked_header(path, header)
            for cells in reader:
                if cells:
                    _read_row(_Row(path, reader.line_num, cells, columns), accuracies_pct, latencies)
    except OSError as error:
        raise ConfigError(f"cannot read profile file {path}: {error.strerror}; give the path of a CSV file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"profile file {path} is not CSV in UTF-8: {error}; save it as such") from error
    if not latencies:
        raise ConfigError(f"profile file {path} has no rows; profile at least one variant")
    return {
        name: ProfiledVariant(accuracies_pct[name], _profile(device, by_length))
        for name, by_length in latencies.items()
    }


def _profile(device: str, by_length: Mapping[int, Mapping[int, BatchLatency]]) -> LatencyProfile:
    typical = next(iter(by_length))
    return LatencyProfile.of_lengths(device, typical, by_length) if typical else LatencyProfile(device, by_length[0])


def _checked_header(path: Path, header: list[str]) -> tuple[str, ...]:
    if tuple(header) not in (COLUMNS, (*COLUMNS, LENGTH)):
        raise ConfigError(
            f"profile file {path}, line 1: the header is {','.join(header)!r}; it must be {','.join(COLUMNS)!r}, "
            f"with {LENGTH!r} behind where inputs may be of any length"
        )
    return tuple(header)


@dataclass(frozen=True)
class _Row:
    """One line of a file, with the cells as text."""

    path: Path
    line: int
    cells: list[str]
    columns: tuple[str, ...]

    def fault(self, column: str, value: object, remedy: str) -> ConfigError:
        return ConfigError(f"profile file {self.path}, line {self.line}, column {column}: {value!r}; {remedy}")

    def text(self, column: str) -> str:
        value = self.cells[self.columns.index(column)].strip()
        if not value:
            raise self.fault(column, value, "give a name")
        return value

    def whole(self, column: str) -> int:
        text = self.cells[self.columns.index(column)]
        try:
            value = int(text)
        except ValueError:
            value = 0
        if value < 1:
            raise self.fault(column, text, "give a whole number of at least 1")
        if value > HIGHEST_WHOLE:
            shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
            raise self.fault(column, shown, f"give a whole number of at most {HIGHEST_WHOLE}")
        return value

    def length(self) -> int:
        """0 where the row is of no length."""
        if self.columns[-1] != LENGTH or not self.cells[-1].strip():
            return 0
        return self.whole(LENGTH)

    def number(self, column: str) -> float:
        text = self.cells[self.columns.index(column)]
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


def _read_row(row: _Row, accuracies_pct: dict[str, float], latencies: Latencies) -> None:
    """Check one row and add it to both tables."""
    if len(row.cells) != len(row.columns):
        raise row.fault(COLUMNS[0], row.cells[0], f"the row has {len(row.cells)} cells; give {len(row.columns)}")
    name = row.text("variant")
    accuracy_pct = row.number("accuracy_pct")
    if accuracies_pct.setdefault(name, accuracy_pct) != accuracy_pct:
        remedy = f"earlier rows of {name!r} say {accuracies_pct[name]:g}; give one accuracy per variant"
        raise row.fault("accuracy_pct", row.cells[COLUMNS.index("accuracy_pct")], remedy)
    batch_size = row.whole("batch_size")
    length = row.length()
    by_length = latencies.setdefault(name, {})
    if (length == 0) is not (0 in by_length) and by_length:
        raise row.fault(LENGTH, row.cells[-1], f"{name!r} has rows with and without a length; give all of them one")
    by_batch = by_length.setdefault(length, {})
    if batch_size in by_batch:
        of_length = f" for length {length}" if length else ""
        raise row.fault("batch_size", batch_size, f"{name!r} has this batch size twice{of_length}; keep one row")
    latency = BatchLatency(row.whole("samples"), *(row.number(column) for column in _LATENCIES))
    for lower, higher in pairwise(_QUANTILES):
        below, value = getattr(latency, lower), getattr(latency, higher)
        if value < below:
            raise row.fault(higher, value, f"{lower} is {below:g}, and a higher quantile cannot be less; correct one")
    by_batch[batch_size] = latency

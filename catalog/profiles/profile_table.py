"""Profiles of many variants on several device types, as the artefact of Proteus publishes them in one CSV file.

One row per variant, device type and batch size. Of its columns ``Model``, ``Accel`` (the device type), ``batchsize``,
``avg_latency(ms)``, ``Accuracy`` and ``Normalized_Accuracy`` (to the best variant of the same query type) are needed;
``Trials`` is used where it is there, all others are ignored.
"""

import csv
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import HIGHEST_WHOLE

COLUMNS = ("Model", "Accel", "batchsize", "avg_latency(ms)", "Accuracy", "Normalized_Accuracy")
"""Columns that a file must have, in any order."""


@dataclass(frozen=True)
class TabledVariant:
    """What a file says of one variant; accuracies are in percent, 0 to 100.

    ``latency_s`` maps device type to mean latencies: entry n is of a batch of n rows, from 0 (unused) to the largest
    batch that was measured there. Between measured sizes, and where a larger batch took less time, it follows
    `LatencyProfile`.
    """

    accuracy_pct: float
    normalised_accuracy_pct: float
    latency_s: dict[str, tuple[float, ...]]


def read_profile_table(path: Path) -> dict[str, TabledVariant]:
    """Variants by name, in the order of the file.

    Of several rows for one variant, device type and batch size the one with the most trials counts, of equals the
    first. Raises `ConfigError` naming file, line, column and value where the file cannot be used.
    """
    accuracies_pct: dict[str, tuple[float, float]] = {}
    measured: dict[str, dict[str, dict[int, _Measured]]] = {}
    for row in _rows(path):
        name = row.text("Model")
        accuracy_pct = (row.number("Accuracy", 100.0), row.number("Normalized_Accuracy", 100.0))
        if accuracies_pct.setdefault(name, accuracy_pct) != accuracy_pct:
            earlier = " and ".join(f"{value:g}" for value in accuracies_pct[name])
            raise row.fault("Accuracy", f"earlier rows of {name!r} say {earlier}; give one accuracy per variant")
        by_batch = measured.setdefault(name, {}).setdefault(row.text("Accel"), {})
        latency = _Measured(row.number("avg_latency(ms)"), row.trials)
        known = by_batch.get(rows := row.whole("batchsize"))
        if known is None or latency.trials > known.trials:
            by_batch[rows] = latency
    if not measured:
        raise ConfigError(f"profile table {path} has no rows; profile at least one variant")
    return {
        name: TabledVariant(
            *accuracies_pct[name], {device: _tabulated(device, by_batch) for device, by_batch in devices.items()}
        )
        for name, devices in measured.items()
    }


def match_device(name: str, devices: Collection[str]) -> str:
    """The one device type that ``name`` means: equal to it, or what follows an underscore in it.

    Raises `ConfigError` listing ``devices`` where that is none of them, or several.
    """
    if name in devices:
        return name
    matches = sorted(device for device in devices if device.endswith(f"_{name}"))
    if len(matches) != 1:
        found = f"{', '.join(matches)} all end so" if matches else f"there are {', '.join(sorted(devices))}"
        raise ConfigError(f"unknown device {name!r}: {found}; give one of them, or its end after an underscore")
    return matches[0]


def group_by_query_type(
    types: Collection[str], variants: Iterable[str]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The variants of each query type, and those of none.

    A variant belongs to the longest type whose name is within its own, whatever the case: with the types resnet,
    resnest and bert, resnest14 is of resnest and roberta-base of bert. Numbers count as a whole, so that resnest50 is
    not of t5. Raises `ConfigError` naming the types that are left without a variant.
    """
    by_length = sorted(types, key=lambda each: (-len(each), each))
    grouped: dict[str, list[str]] = {each: [] for each in types}
    without: list[str] = []
    for variant in variants:
        found = next((each for each in by_length if _is_within(each.lower(), variant.lower())), None)
        (without if found is None else grouped[found]).append(variant)
    if empty := sorted(each for each, names in grouped.items() if not names):
        raise ConfigError(
            f"no variant for query types {', '.join(empty)}; add variants whose names contain them, or leave them out"
        )
    return {each: tuple(names) for each, names in grouped.items()}, tuple(without)


def _is_within(name: str, variant: str) -> bool:
    """Whether a name is part of a variant's, and none of its numbers goes on before or behind it there."""
    before = r"(?<!\d)" if name[:1].isdigit() else ""
    behind = r"(?!\d)" if name[-1:].isdigit() else ""
    return re.search(f"{before}{re.escape(name)}{behind}", variant) is not None


@dataclass(frozen=True)
class _Measured:
    """Mean latency of a batch over so many trials; 0 where the file does not say how many."""

    mean_ms: float
    trials: int


@dataclass(frozen=True)
class _Row:
    """One line of a file, the cells as text by column."""

    path: Path
    line: int
    cells: dict[str, str]

    def fault(self, column: str, remedy: str) -> ConfigError:
        value = self.cells[column]
        return ConfigError(f"profile table {self.path}, line {self.line}, column {column}: {value!r}; {remedy}")

    def text(self, column: str) -> str:
        if not (value := self.cells[column].strip()):
            raise self.fault(column, "give a name")
        return value

    def whole(self, column: str) -> int:
        try:
            value = int(self.cells[column])
        except ValueError:
            value = 0
        if value < 1:
            raise self.fault(column, "give a whole number of at least 1")
        if value > HIGHEST_WHOLE:
            raise self.fault(column, f"give a whole number of at most {HIGHEST_WHOLE}")
        return value

    def number(self, column: str, highest: float = np.inf) -> float:
        try:
            value = float(self.cells[column])
        except ValueError:
            value = np.nan
        if not (0.0 < value <= highest and np.isfinite(value)):
            raise self.fault(column, f"give a number above 0{f', at most {highest:g}' if highest < np.inf else ''}")
        return value

    @property
    def trials(self) -> int:
        return self.whole("Trials") if self.cells.get("Trials", "").strip() else 0


def _rows(path: Path) -> Iterator[_Row]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            if missing := [column for column in COLUMNS if column not in header]:
                raise ConfigError(
                    f"profile table {path}, line 1: no column {', '.join(missing)}; give {', '.join(COLUMNS)}"
                )
            for cells in reader:
                if len(cells) != len(header) and cells:
                    raise ConfigError(
                        f"profile table {path}, line {reader.line_num}: {','.join(cells)!r} has {len(cells)} cells; "
                        f"give {len(header)}, as the header has"
                    )
                if cells:
                    yield _Row(path, reader.line_num, dict(zip(header, cells, strict=True)))
    except OSError as error:
        raise ConfigError(f"cannot read profile table {path}: {error.strerror}; give the path of a CSV file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"profile table {path} is not CSV in UTF-8: {error}; save it as such") from error


def _tabulated(device: str, measured: dict[int, _Measured]) -> tuple[float, ...]:
    """Seconds by number of rows. Of the quantities of a profile only the mean is known, and only the mean is read."""
    by_batch = {
        rows: BatchLatency(each.trials, each.mean_ms, 0.0, *[each.mean_ms] * 4) for rows, each in measured.items()
    }
    profile = LatencyProfile(device, by_batch)
    return (0.0, *(profile.latency_ms(rows, "mean_ms") / 1e3 for rows in range(1, max(measured) + 1)))

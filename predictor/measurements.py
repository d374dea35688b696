"""Latencies of variants alone and together, as files have them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from predictor.configuration import Configuration
from predictor.table_file import numbers_of, read_table, refuse

HIGHEST = 1e30
"""Of slowdowns, and the lowest is its inverse: models reckon with their squares and logarithms as 64-bit numbers."""

TOGETHER_S = 60.0
"""Rows of one configuration are written down within this time of each other."""

COLUMNS = ("configuration", "machine", "variant", "alone_ms", "together_ms")


class Run(NamedTuple):
    """Variants that ran together once: their mean latencies alone and together, in the order of the variants.

    A configuration that was measured several times has several runs.
    """

    configuration: Configuration
    alone_ms: tuple[float, ...]
    together_ms: tuple[float, ...]

    @property
    def slowdown(self) -> tuple[float, ...]:
        """Together over alone, for each variant."""
        return tuple(t / a for t, a in zip(self.together_ms, self.alone_ms, strict=True))

    @property
    def ordered(self) -> "Run":
        """The same run with its variants in the order of their names."""
        machine, names = self.configuration
        rows = sorted(zip(names, self.alone_ms, self.together_ms, strict=True), key=lambda row: row[0])
        variants, alone_ms, together_ms = zip(*rows, strict=True)
        return Run(Configuration(machine, variants), alone_ms, together_ms)


@dataclass(frozen=True)
class Measurements:
    """Runs in the order in which they were made; those of one configuration are repeats."""

    runs: tuple[Run, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    @cached_property
    def repeats(self) -> dict[Configuration, list[Run]]:
        """The runs of each configuration; variants are in the order of their names."""
        found: dict[Configuration, list[Run]] = defaultdict(list)
        for run in self.runs:
            found[run.configuration.ordered].append(run.ordered)
        return dict(found)

    @cached_property
    def machines(self) -> tuple[str, ...]:
        """The machine types, in the order of their names."""
        return tuple(sorted({run.configuration.machine for run in self.runs}))

    def only(self, configurations: Sequence[Configuration]) -> "Measurements":
        """The runs of these configurations, in whatever order these give their variants."""
        wanted = {configuration.ordered for configuration in configurations}
        return Measurements(tuple(run for run in self.runs if run.configuration.ordered in wanted))

    @cached_property
    def slowdown(self) -> NDArray[np.float64]:
        """Of all variants of all runs, one run after the other: shape [variants of all runs]."""
        return np.array([each for run in self.runs for each in run.slowdown], dtype=np.float64)


def read_measurements(path: Path, *, of_one_setting: bool = True) -> Measurements:
    """Read a Parquet file or a CSV of `COLUMNS`; rows with the same ``configuration`` and ``machine`` ran together.

    Other columns are passed over, but for ``measured_at`` and ``threads`` as `accord interference measure` writes them.
    Raises `ConfigError` where the file cannot be read, lacks a column, has an empty name, a latency that is no number
    above 0 or a slowdown that cannot be reckoned with; where it has copies of rows, or rows of one configuration that
    were measured at different times; and, where all are to be ``of_one_setting``, where a machine type was measured
    with several numbers of threads, which are no repeats.
    """
    table = read_table(path, "measurements", COLUMNS[:3], COLUMNS)
    for column in COLUMNS[3:]:
        latencies_ms = numbers_of(table, column)
        refuse(path, table, column, ~((latencies_ms > 0) & np.isfinite(latencies_ms)), "a time above 0")
        table[column] = latencies_ms
    with np.errstate(over="ignore", under="ignore"):
        slowdown = table["together_ms"].to_numpy() / table["alone_ms"].to_numpy()
    wrong = (slowdown < 1 / HIGHEST) | (slowdown > HIGHEST)
    refuse(path, table, "together_ms", wrong, f"a time from {1 / HIGHEST:g} to {HIGHEST:g} times alone_ms")
    _refuse_copies(path, table)
    if of_one_setting:
        _refuse_several_settings(path, table)
    _refuse_several_times(path, table)
    runs = []
    for (_, machine), rows in table.groupby(["configuration", "machine"], sort=False):
        runs.append(
            Run(
                Configuration(machine, tuple(rows["variant"])),
                tuple(float(each) for each in rows["alone_ms"]),
                tuple(float(each) for each in rows["together_ms"]),
            )
        )
    if not runs:
        raise ConfigError(f"{path} has no measurements; make some with `accord interference measure`")
    return Measurements(tuple(runs))


def _refuse_several_settings(path: Path, table: Any) -> None:
    if "threads" not in table.columns:
        return
    for machine, rows in table.groupby("machine", sort=False):
        threads = sorted(rows["threads"].dropna().unique())
        if len(threads) > 1:
            raise ConfigError(
                f"{path} has machine type {machine!r} with {', '.join(map(str, threads))} threads, which are no "
                "repeats of each other; give a file with one of them (column threads)"
            )


def _refuse_copies(path: Path, table: Any) -> None:
    """The rows of a configuration that follow one another are all there again elsewhere: a file was appended to itself.

    A variant that stands twice in a configuration may have equal rows, side by side or each by itself: only several
    rows that differ and come again together are surely copies.
    """
    first: dict[tuple[Any, ...], int] = {}
    rows = zip(*(table[column] for column in COLUMNS), strict=True)
    for (configuration, machine), block in groupby(enumerate(rows, 1), key=lambda numbered: numbered[1][:2]):
        (number, *_), together = zip(*block, strict=True)
        before = first.setdefault(tuple(sorted(together)), number)
        if before != number and len(set(together)) > 1:
            raise ConfigError(
                f"{path}: configuration {configuration!r} of machine type {machine!r} has the same rows from row "
                f"{before} and from row {number}, to the last digit: copies would count as more variants that ran "
                "together; remove them"
            )


def _refuse_several_times(path: Path, table: Any) -> None:
    if "measured_at" not in table.columns:
        return
    import pandas as pd

    at = pd.to_datetime(table["measured_at"].astype(str), errors="coerce", utc=True, format="ISO8601")
    spans = at.groupby([table["configuration"], table["machine"]], sort=False).agg(["min", "max"])
    apart = spans[spans["max"] - spans["min"] > pd.Timedelta(seconds=TOGETHER_S)]
    if len(apart):
        raise ConfigError(
            f"{path}: configuration {apart.index[0][0]!r} was measured at {apart['min'].iloc[0]} and at "
            f"{apart['max'].iloc[0]}: files were joined in which other runs have the same name; give the "
            "configurations of one of them other names"
        )

"""Arrivals from a recorded trace, in either of the two formats in which traces are published."""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from workload.rate import RateSchedule, RateStep
from workload.renewal import Poisson

FORMATS = "arrival_ms or arrival_s (one line per query), or time_s and load_qps (one line per interval)"


@dataclass(frozen=True, eq=False)
class RecordedArrivals:
    """The very instants of a trace, ascending, in seconds from its start."""

    arrivals_s: NDArray[np.float64]

    def times_s(self, duration_s: float) -> NDArray[np.float64]:
        return self.arrivals_s[self.arrivals_s < duration_s]


@dataclass(frozen=True)
class RecordedLoad:
    """Poisson arrivals at the recorded rate of each interval; none after the trace ends."""

    schedule: RateSchedule
    seed: int

    def times_s(self, duration_s: float) -> NDArray[np.float64]:
        return Poisson(self.schedule, self.seed).times_s(min(duration_s, self.schedule.length_s))


def read_trace(path: Path, seed: int, mean_rate_qps: float | None = None) -> RecordedArrivals | RecordedLoad:
    """Read a CSV file, gzipped or not; its header says which format it is.

    ``mean_rate_qps`` is the mean over the whole trace after rescaling, None keeps the trace as it is. Rescaling
    stretches the time of arrival instants, which keeps their pattern, and multiplies the loads of intervals.
    Raises `ConfigError` naming the file, the line and the value that are wrong.
    """
    if mean_rate_qps is not None and not 0 < mean_rate_qps < np.inf:
        raise ConfigError(f"mean rate {mean_rate_qps:g} for trace {path}; give a finite rate above 0")
    header, *rows = _lines(path)
    for name, per_second in (("arrival_ms", 1e3), ("arrival_s", 1.0)):
        if name in header:
            return _arrivals(path, name, _column(path, header, rows, name) / per_second, mean_rate_qps)
    if {"time_s", "load_qps"} <= set(header):
        times_s, loads_qps = (_column(path, header, rows, name) for name in ("time_s", "load_qps"))
        return _load(path, times_s, loads_qps, seed, mean_rate_qps)
    raise ConfigError(f"trace {path} has columns {', '.join(header)}; give a CSV file with {FORMATS}")


def _lines(path: Path) -> Iterator[list[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read trace {path}: {error}; give a CSV file, gzipped if it ends in .gz") from error
    if len(lines) < 2:
        raise ConfigError(f"trace {path} holds no data; give a header line with {FORMATS}, and lines below it")
    return iter(lines)


def _column(path: Path, header: list[str], rows: list[list[str]], name: str) -> NDArray[np.float64]:
    position = header.index(name)
    values = np.empty(len(rows))
    for index, row in enumerate(rows):
        try:
            values[index] = float(row[position])
        except (ValueError, IndexError) as error:
            raise ConfigError(f"trace {path}, line {index + 2}: {','.join(row)!r} has no number in {name}") from error
        if not 0 <= values[index] < np.inf:
            raise ConfigError(
                f"trace {path}, line {index + 2}: {name} is {row[position]}; it must be finite and at least 0"
            )
    return values


def _arrivals(path: Path, name: str, arrivals_s: NDArray[np.float64], mean_rate_qps: float | None) -> RecordedArrivals:
    if (backwards := np.flatnonzero(np.diff(arrivals_s) < 0)).size:
        raise ConfigError(f"trace {path}, line {backwards[0] + 3}: {name} goes back in time; sort the trace by it")
    if mean_rate_qps is None:
        return RecordedArrivals(arrivals_s)
    if arrivals_s[-1] == 0:
        raise ConfigError(f"trace {path} cannot be rescaled, all its arrivals are at 0; leave out the rate")
    return RecordedArrivals(arrivals_s * (len(arrivals_s) / arrivals_s[-1] / mean_rate_qps))


def _load(
    path: Path, times_s: NDArray[np.float64], loads_qps: NDArray[np.float64], seed: int, mean_rate_qps: float | None
) -> RecordedLoad:
    """The last interval is taken to be as long as the one before it."""
    lengths_s = [float(later - earlier) for earlier, later in pairwise(times_s)]
    if not lengths_s or min(lengths_s) <= 0:
        raise ConfigError(f"trace {path}: time_s must have at least two lines and rise from each to the next")
    lengths_s.append(lengths_s[-1])
    schedule = RateSchedule(tuple(map(RateStep, loads_qps.tolist(), lengths_s)))
    if mean_rate_qps is None:
        return RecordedLoad(schedule, seed)
    factor = mean_rate_qps / np.average(loads_qps, weights=lengths_s)
    return RecordedLoad(RateSchedule(tuple(RateStep(s.rate_qps * factor, s.duration_s) for s in schedule.steps)), seed)

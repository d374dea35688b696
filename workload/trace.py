"""Arrivals from a recorded trace, in either of the two formats in which traces are published."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from workload.rate import RateSchedule, RateStep
from workload.renewal import Poisson
from workload.trace_file import TraceFile

FROM_ELSEWHERE_S = 86_400.0
"""Nobody records a day of silence first: such instants count from elsewhere, as from the epoch."""

FORMATS = "arrival_ms or arrival_s (one line per query), or time_s and load_qps (one line per interval)"


@dataclass(frozen=True, eq=False)
class RecordedArrivals:
    """The very instants of a trace, ascending, in seconds from its start."""

    arrivals_s: NDArray[np.float64]

    @property
    def length_s(self) -> float:
        """Just long enough for the last query; a millisecond where all come at once."""
        return max(float(np.nextafter(self.arrivals_s[-1], np.inf)), 1e-3)

    def times_s(self, duration_s: float) -> NDArray[np.float64]:
        return self.arrivals_s[self.arrivals_s < duration_s]


@dataclass(frozen=True)
class RecordedLoad:
    """Poisson arrivals at the recorded rate of each interval; none after the trace ends."""

    schedule: RateSchedule
    seed: int

    @property
    def length_s(self) -> float:
        return self.schedule.length_s

    def times_s(self, duration_s: float) -> NDArray[np.float64]:
        return Poisson(self.schedule, self.seed).times_s(min(duration_s, self.schedule.length_s))


def read_trace(path: Path, seed: int, mean_rate_qps: float | None = None) -> RecordedArrivals | RecordedLoad:
    """Read a CSV file, gzipped or not; its header says which format it is.

    ``mean_rate_qps`` is the mean over the whole trace after rescaling, None keeps the trace as it is. Rescaling
    stretches the time of arrival instants, which keeps their pattern, and multiplies the loads of intervals.
    Instants whose first is `FROM_ELSEWHERE_S` or more are counted from the first. Raises `ConfigError` naming the file,
    the line and the value that are wrong.
    """
    if mean_rate_qps is not None and not 0 < mean_rate_qps < np.inf:
        raise ConfigError(f"mean rate {mean_rate_qps:g} for trace {path}; give a finite rate above 0")
    file = TraceFile.read(path, FORMATS)
    arrivals_s = file.arrivals_s()
    if arrivals_s is not None:
        return _arrivals(path, arrivals_s, mean_rate_qps)
    if {"time_s", "load_qps"} <= set(file.header):
        return _load(path, file.numbers("time_s"), file.numbers("load_qps"), seed, mean_rate_qps)
    raise ConfigError(f"trace {path} has columns {', '.join(file.header)}; give a CSV file with {FORMATS}")


def _arrivals(path: Path, arrivals_s: NDArray[np.float64], mean_rate_qps: float | None) -> RecordedArrivals:
    if arrivals_s[0] >= FROM_ELSEWHERE_S:
        arrivals_s = arrivals_s - arrivals_s[0]
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
    if not loads_qps.any():
        raise ConfigError(
            f"trace {path}: load_qps is 0 on every line, so that it never sends a query; give one with load"
        )
    schedule = RateSchedule(tuple(map(RateStep, loads_qps.tolist(), lengths_s)))
    if mean_rate_qps is None:
        return RecordedLoad(schedule, seed)
    factor = mean_rate_qps / np.average(loads_qps, weights=lengths_s)
    return RecordedLoad(RateSchedule(tuple(RateStep(s.rate_qps * factor, s.duration_s) for s in schedule.steps)), seed)

"""What the systems are put to: constant loads that they know, and traces whose load they see in the last 500 ms."""

from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from dispatch.load.known import KnownLoad
from dispatch.load.monitor import LoadMonitor
from dispatch.load.moving_average import MovingAverage
from workload.rate import RateSchedule
from workload.renewal import Poisson, expected_queries
from workload.trace import RecordedArrivals, read_trace

CONSTANT_S = 30.0
TWITTER_S = 300.0
TWITTER_FILE = Path(__file__).parents[3] / "shared" / "data" / "ramsis" / "twitter_5min.csv"

TABLES, PROFILED = 20, 40
"""Into how many steps the loads up to the highest are divided: decision tables every 200 queries/s up to 4000 and
response latencies every 100, as in the paper (section 7, appendix A)."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Poisson arrivals of ``schedule`` over ``duration_s``, or the recorded instants of a trace.

    ``highest_qps`` is the load that policies have to be made for; ``is_known`` says that it is constant and that
    policies know it (section 7.2).
    """

    load_qps: float
    highest_qps: float
    duration_s: float
    is_known: bool
    schedule: RateSchedule | None
    recorded_s: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.schedule is not None:
            expected_queries(self.schedule, self.duration_s)  # raises `ConfigError` for more than can be played

    def arrivals_s(self, seed: int) -> NDArray[np.float64]:
        """Ascending instants; a recorded trace has the same whatever the seed."""
        if self.schedule is None:
            assert self.recorded_s is not None
            return self.recorded_s
        return Poisson(self.schedule, seed).times_s(self.duration_s)

    def monitor(self) -> LoadMonitor:
        """A new load monitor."""
        return KnownLoad([0.0], [self.load_qps]) if self.is_known else MovingAverage()

    @property
    def tables_qps(self) -> list[float]:
        """Loads that decision tables are made for."""
        return [self.load_qps] if self.is_known else _steps(self.highest_qps, TABLES)

    @property
    def profiled_qps(self) -> list[float]:
        """Loads under which response latency is profiled, ascending."""
        return sorted({*_steps(self.highest_qps, PROFILED), *([self.load_qps] if self.is_known else [])})


def constant(load_qps: float, highest_qps: float) -> Workload:
    """30 s of one load, out of a sweep up to the highest."""
    return Workload(load_qps, highest_qps, CONSTANT_S, True, RateSchedule.constant(load_qps))


def twitter(file: Path = TWITTER_FILE) -> Workload:
    """The five minutes of the paper; a file that is shorter begins anew, a longer one is cut."""
    if not file.is_file():
        raise ConfigError(f"no trace at {file}; name the file with --trace-file")
    return recorded(file, TWITTER_S)


def recorded(file: Path, duration_s: float | None = None) -> Workload:
    """A trace file of either format; one of loads begins anew when it is over and ``duration_s`` is not."""
    source = read_trace(file, seed=0)
    if isinstance(source, RecordedArrivals):
        arrivals_s = source.arrivals_s
        length_s = max(float(arrivals_s[-1]), 1.0)
        highest_qps = float(np.bincount(arrivals_s.astype(np.intp)).max())
        return Workload(len(arrivals_s) / length_s, _rounded_up(highest_qps), length_s, False, None, arrivals_s)
    whole_s = source.schedule.length_s
    lasting_s = whole_s if duration_s is None else duration_s
    schedule = RateSchedule(source.schedule.steps * ceil(lasting_s / whole_s))
    mean_qps = float(schedule.cumulative(lasting_s)[1][-1]) / lasting_s
    highest_qps = _rounded_up(max(step.rate_qps for step in schedule.steps))
    return Workload(mean_qps, highest_qps, lasting_s, False, schedule)


def _steps(highest_qps: float, count: int) -> list[float]:
    return [highest_qps * number / count for number in range(1, count + 1)]


def _rounded_up(load_qps: float) -> float:
    """To two significant digits, so that steps are round."""
    unit = 10.0 ** (floor(log10(load_qps)) - 1)
    return ceil(load_qps / unit) * unit

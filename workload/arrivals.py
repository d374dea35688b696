"""When queries arrive: the seam, and the arrival processes by name."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from workload.rate import RateSchedule
from workload.renewal import Gamma, Poisson, Uniform
from workload.trace import read_trace


class ArrivalSource(Protocol):
    """Where the instants of a run come from."""

    @property
    def length_s(self) -> float:
        """How long it goes on; infinite where it has no end."""
        ...

    def times_s(self, duration_s: float) -> NDArray[np.float64]:
        """Arrivals in [0, duration_s) as ascending offsets in seconds from the start, possibly none.

        Asking twice gives the same instants; neither a clock nor shared randomness is read.
        """
        ...


@dataclass(frozen=True)
class ArrivalOptions:
    """What a process may need. ``rate`` is a schedule as `RateSchedule.parse` reads it; None keeps a trace's own rate.

    ``shape`` matters to gamma only and ``trace``, a file, to trace only.
    """

    rate: str | None = "50"
    shape: float = 0.5
    trace: Path | None = None
    seed: int = 0

    @property
    def schedule(self) -> RateSchedule:
        """The parsed rate; raises `ConfigError` where there is none."""
        if self.rate is None:
            raise ConfigError("no rate given; give queries per second, as in 50 or 50:10,400:10")
        return RateSchedule.parse(self.rate)


def _trace(options: ArrivalOptions) -> ArrivalSource:
    if options.trace is None:
        raise ConfigError("arrivals 'trace' without a file; name one with --trace")
    if options.rate is None:
        return read_trace(options.trace, options.seed)
    steps = options.schedule.steps
    if len(steps) > 1 or math.isfinite(steps[0].duration_s):
        raise ConfigError(f"rate {options.rate!r} for a trace, which has steps of its own; give one mean rate or none")
    return read_trace(options.trace, options.seed, steps[0].rate_qps)


PROCESSES: dict[str, Callable[[ArrivalOptions], ArrivalSource]] = {
    "poisson": lambda options: Poisson(options.schedule, options.seed),
    "gamma": lambda options: Gamma(options.schedule, options.shape, options.seed),
    "uniform": lambda options: Uniform(options.schedule),
    "trace": _trace,
}


def create(name: str, options: ArrivalOptions) -> ArrivalSource:
    """The process of that name; raises `ConfigError` listing the names where there is none."""
    if name not in PROCESSES:
        raise ConfigError(f"unknown arrivals {name!r}; use one of {', '.join(PROCESSES)}")
    if options.trace is not None and name != "trace":
        raise ConfigError(f"arrivals {name!r} cannot follow trace {options.trace}; use 'trace', or leave out the file")
    return PROCESSES[name](options)

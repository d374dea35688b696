"""Arrivals of several query types: excerpts of recorded traces, or made up, thinned out for a small cluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.live_proteus.planners import KnownLoads
from benchmarks.proteus.testbed import zipf
from catalog.errors import ConfigError
from workload.rate import RateSchedule, RateStep
from workload.renewal import Poisson
from workload.typed_trace import read_typed_trace

Floats = NDArray[np.float64]

PEAK_WINDOW_S = 5.0
"""The busiest so many seconds are the peak."""

COUNTED_S = 90.0
"""Of a trace, where it is that long."""

MADE_UP_S = 120


@dataclass(frozen=True, eq=False)
class Load:
    """Arrivals by endpoint, ascending, from 0 to ``duration_s``; those before ``warm_s`` do not count."""

    trace: str
    arrivals_s: Mapping[str, Floats]
    duration_s: float
    warm_s: float

    def known(self, workers: int) -> KnownLoads:
        """What baselines are told."""
        everything = np.concatenate(list(self.arrivals_s.values()))
        window = busiest_s(everything, PEAK_WINDOW_S)
        return KnownLoads(
            {name: len(of) / self.duration_s for name, of in self.arrivals_s.items()},
            {name: _rate_qps(of, window, PEAK_WINDOW_S) for name, of in self.arrivals_s.items()},
            workers,
        )


def read(path: Path | None, name: str, seed: int) -> dict[str, Floats]:
    """A recorded trace, or one that is made up where there is none. Raises `ConfigError`."""
    return read_typed_trace(path) if path is not None else made_up(name, seed)


def made_up(name: str, seed: int) -> dict[str, Floats]:
    """`MADE_UP_S` seconds of nine types, whose parts of the load fall with their rank.

    ``bursty`` doubles for 5 s in every 20 s, anything else drifts by up to a tenth from second to second.
    """
    rng = np.random.default_rng(seed)
    if name == "bursty":
        total_qps = np.where(np.arange(MADE_UP_S) % 20 < 5, 800.0, 400.0)
    else:
        total_qps = 400.0 * np.clip(np.cumprod(rng.uniform(10 / 11, 11 / 10, MADE_UP_S)), 0.5, 1.5)
    types = ["mobilenet", "efficientnet", "resnest", "bert", "yolo", "densenet", "resnet", "t5", "gpt2"]
    found = {}
    for number, (each, part) in enumerate(zipf(types).items()):
        schedule = RateSchedule(tuple(RateStep(part * qps, 1.0) for qps in total_qps.tolist()))
        found[each] = Poisson(schedule, seed + number).times_s(float(MADE_UP_S))
    return found


def most_frequent(arrivals_s: Mapping[str, Floats], count: int) -> tuple[str, ...]:
    """The types with the most queries. Raises `ConfigError` where there are fewer."""
    if len(arrivals_s) < count:
        raise ConfigError(f"the trace has {len(arrivals_s)} query types; ask for no more endpoints than that")
    return tuple(sorted(arrivals_s, key=lambda name: (-len(arrivals_s[name]), name))[:count])


def of_types(traces: Mapping[str, Mapping[str, Floats]], types: Sequence[str]) -> dict[str, dict[str, Floats]]:
    """Of every trace the arrivals of these types. Raises `ConfigError` where a trace has none of one."""
    for trace, arrivals_s in traces.items():
        missing = [name for name in types if name not in arrivals_s]
        if missing:
            raise ConfigError(
                f"trace {trace} has no query type {', '.join(missing)}, and the most frequent of the first trace are "
                f"{', '.join(types)}; it has {', '.join(sorted(arrivals_s))}; give traces of the same types, or one "
                "alone with --traces"
            )
    return {trace: {name: arrivals_s[name] for name in types} for trace, arrivals_s in traces.items()}


def excerpt(
    name: str, arrivals_s: Mapping[str, Floats], seconds: float, warm_s: float, peak_qps: float, seed: int
) -> Load:
    """The ``seconds`` with the most queries, thinned out at random until the busiest `PEAK_WINDOW_S` have ``peak_qps``.

    The ``warm_s`` before them are played as well; where the excerpt begins earlier in the trace, its first part is
    played twice. Raises `ConfigError` where the trace is shorter than the excerpt, or has not that many queries.
    """
    everything = np.sort(np.concatenate(list(arrivals_s.values())))
    if everything[-1] < seconds + warm_s:
        raise ConfigError(f"trace {name} lasts {everything[-1]:.0f} s; give --seconds and --warm-s that fit into it")
    start_s = max(busiest_s(everything, seconds), warm_s) - warm_s
    inside = everything[(everything >= start_s) & (everything < start_s + warm_s + seconds)]
    highest_qps = _rate_qps(inside, busiest_s(inside, PEAK_WINDOW_S), PEAK_WINDOW_S)
    part = peak_qps / highest_qps
    if part > 1.0:
        raise ConfigError(
            f"trace {name} has {highest_qps:.0f} queries/s at its peak, and {peak_qps:.0f} are wanted; give fewer "
            "workers, or slower profiles with --slower"
        )
    rng = np.random.default_rng(seed)
    found = {}
    for each, of in arrivals_s.items():
        own = of[(of >= start_s) & (of < start_s + warm_s + seconds)] - start_s
        found[each] = own[rng.random(len(own)) < part]
    return Load(name, found, warm_s + seconds, warm_s)


def longest_s(traces: Iterable[Mapping[str, Floats]], warm_s: float) -> float:
    """Whole seconds that the shortest trace has after a warm-up, `COUNTED_S` at most. Raises `ConfigError` for none."""
    length_s = min(max(float(of.max()) for of in arrivals_s.values()) for arrivals_s in traces)
    if length_s < warm_s + 1.0:
        raise ConfigError(f"a trace lasts {length_s:.1f} s, and {warm_s:g} s are its warm-up; give a shorter --warm-s")
    return min(COUNTED_S, floor(length_s - warm_s))


def busiest_s(ascending_or_not_s: Floats, length_s: float) -> float:
    """When the window of that length with the most arrivals begins: at one of them."""
    times_s = np.sort(ascending_or_not_s)
    counts = np.searchsorted(times_s, times_s + length_s) - np.arange(len(times_s))
    inside = times_s <= max(times_s[-1] - length_s, times_s[0])
    return float(times_s[int(np.argmax(np.where(inside, counts, -1)))])


def _rate_qps(times_s: Floats, start_s: float, length_s: float) -> float:
    return float(np.count_nonzero((times_s >= start_s) & (times_s < start_s + length_s))) / length_s

"""Bursts of three shapes by a stated rule: on and off, a flash crowd, and gaps that vary widely."""

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from workload.rate import RateSchedule, RateStep
from workload.renewal import Gamma, Poisson

Floats = NDArray[np.float64]

ON_S, OFF_S = 8.0, 22.0
"""Of on and off: shorter than the interval between plans, and longer than it takes to make one."""

TIMES = 3.0
"""The load of a burst over that of the quiet time, with on and off as in a flash crowd."""

RISE_S, CROWD_S, FALL_S = 5.0, 20.0, 35.0
"""A flash crowd comes within `RISE_S`, stays, and goes within `FALL_S`."""

STEP_S = 0.5
"""Loads that rise or fall do so in steps."""

CROWD_AT = 0.4
"""The part of the time before a flash crowd."""

GAMMA_SHAPE = 1 / 16
"""Of the gaps between the instants of all queries: their coefficient of variation is 4."""


def on_off(duration_s: float, quiet_qps: float) -> RateSchedule:
    """`OFF_S` of ``quiet_qps`` and `ON_S` of `TIMES` as much, in turn."""
    turns = int(duration_s // (ON_S + OFF_S)) + 1
    return RateSchedule((RateStep(quiet_qps, OFF_S), RateStep(TIMES * quiet_qps, ON_S)) * turns)


def flash_crowd(duration_s: float, quiet_qps: float) -> RateSchedule:
    """One burst, at `CROWD_AT` of the time: a steep straight line up to `TIMES` ``quiet_qps``, and a slow one down."""
    top_qps = TIMES * quiet_qps
    steps = [RateStep(quiet_qps, CROWD_AT * duration_s)]
    steps += _line(quiet_qps, top_qps, RISE_S)
    steps.append(RateStep(top_qps, CROWD_S))
    steps += _line(top_qps, quiet_qps, FALL_S)
    return RateSchedule((*steps, RateStep(quiet_qps, inf)))


def _line(from_qps: float, to_qps: float, duration_s: float) -> list[RateStep]:
    count = round(duration_s / STEP_S)
    return [
        RateStep(from_qps + (to_qps - from_qps) * (number + 0.5) / count, duration_s / count) for number in range(count)
    ]


def _poisson(schedule: RateSchedule, duration_s: float, seed: int) -> Floats:
    return Poisson(schedule, seed).times_s(duration_s)


def _on_off(duration_s: float, quiet_qps: float, seed: int) -> Floats:
    return _poisson(on_off(duration_s, quiet_qps), duration_s, seed)


def _flash_crowd(duration_s: float, quiet_qps: float, seed: int) -> Floats:
    return _poisson(flash_crowd(duration_s, quiet_qps), duration_s, seed)


def _gamma(duration_s: float, quiet_qps: float, seed: int) -> Floats:
    return Gamma(RateSchedule.constant(quiet_qps), GAMMA_SHAPE, seed).times_s(duration_s)


PEAKS: Mapping[str, float] = MappingProxyType({"on_off": TIMES, "flash_crowd": TIMES, "gamma": 1.5})
"""By shape how many times the quiet load the busiest seconds have, of gamma about."""

SHAPES: Mapping[str, Callable[[float, float, int], Floats]] = {
    "on_off": _on_off,
    "flash_crowd": _flash_crowd,
    "gamma": _gamma,
}
"""By name the arrivals of all queries together, in seconds, for a duration, a quiet load and a seed."""


def burst_arrivals(
    shape: str, mix: Mapping[str, float], duration_s: float, quiet_qps: float, seed: int
) -> dict[str, Floats]:
    """Arrivals of each query type, ascending, in seconds: each query is of a type drawn by its part in ``mix``.

    ``shape`` is one of `SHAPES`; ``quiet_qps`` is the load outside bursts, for gamma the mean, of all types together.
    """
    arrivals_s = SHAPES[shape](duration_s, quiet_qps, seed)
    names = sorted(mix)
    parts = np.array([mix[name] for name in names])
    types = np.random.default_rng((seed, 1)).choice(len(names), len(arrivals_s), p=parts / parts.sum())
    return {name: arrivals_s[types == number] for number, name in enumerate(names)}

"""Measures one configuration: its variants alone and together, in turns, until the slowdowns are known well enough.

"Together" is the paper's steady load at the maximum rate (section 4): each variant runs batch after batch in a process
of its own. Three things keep the noise low on a machine that is not quiet:

- *Turns.* Its speed drifts, so windows alone stand between windows together, and all are short.
- *Rotation.* With more processes than CPUs the kernel lets some share a CPU and others not, for 0.1 to 0.3 s at a time.
  Each process begins a window on a CPU of its own turn (`position._Spread`), and the variants take turns at the
  processes. That quarters the time that an error takes (docs/interference.md has the figures).
- *Others.* A cycle of turns in which other processes had more than `QUIET_FRAC` of the CPUs does not count, as long as
  there is time for more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predictor.measure.positions import Positions, Role

ALONE_S, TOGETHER_S = 0.03, 0.03
"""Shortest windows."""

BATCHES_PER_WINDOW = 4
"""At least so many batches, alone, of the slowest variant fit into a window."""

QUIET_FRAC = 0.05
TARGET_ERROR = 0.01
"""Standard error of the slowdown at which a configuration is done."""

LEAST_CYCLES = 6
"""Before the error is believed."""


class CoLocation(NamedTuple):
    """What was measured of one configuration, in the order of its roles."""

    alone_s: tuple[float, ...]  # mean latency of a batch
    together_s: tuple[float, ...]
    error: tuple[float, ...]  # standard error of together over alone
    others_frac: float  # of the CPUs, that other processes had meanwhile
    cycles: int  # that count
    seconds: float  # that it took in all

    @property
    def slowdown(self) -> tuple[float, ...]:
        """Together over alone."""
        return tuple(t / a for t, a in zip(self.together_s, self.alone_s, strict=True))


@dataclass(frozen=True)
class Cycle:
    """Seconds and batches of each role, alone and together: shape [2, roles]."""

    alone: NDArray[np.float64]
    together: NDArray[np.float64]
    others_frac: float


def measure(
    positions: Positions, roles: Sequence[Role], share_s: float, rng: Random, cycles: list[Cycle]
) -> CoLocation:
    """Measure ``roles`` together for up to about ``share_s`` seconds, one cycle of turns at least.

    There must be as many positions as roles, or more. Loading them is not part of that time. ``cycles`` are those that
    were measured before of these roles in this order, to which new ones are added: all count.
    """
    for first in range(len(roles)):
        positions.load(roles, first)
    began_s = perf_counter()
    slowest_s = max(positions.trial_s(role) for role in set(roles))
    while True:
        before_s = perf_counter()
        cycles.append(_cycle(positions, roles, slowest_s, rng))
        quiet = [cycle for cycle in cycles if cycle.others_frac <= QUIET_FRAC]
        if len(quiet) >= LEAST_CYCLES and max(estimate(quiet).error) <= TARGET_ERROR:
            break
        now_s = perf_counter()
        if now_s + (now_s - before_s) > began_s + share_s:
            break
    counted = quiet if len(quiet) >= LEAST_CYCLES else sorted(cycles, key=lambda each: each.others_frac)[:LEAST_CYCLES]
    return estimate(counted)._replace(seconds=perf_counter() - began_s)


def _cycle(positions: Positions, roles: Sequence[Role], slowest_s: float, rng: Random) -> Cycle:
    """Each distinct role alone once, and all together as often as there are roles, each time elsewhere."""
    window_s = BATCHES_PER_WINDOW * slowest_s
    order = rng.sample(range(len(roles)), len(roles))
    shuffled = [roles[index] for index in order]
    alone: dict[Role, NDArray[np.float64]] = {}
    together = np.zeros((2, len(roles)))
    own_s, began = 0.0, positions.clock.read()
    for first, role in enumerate(shuffled):
        if role not in alone:
            (batches,) = positions.window([role], max(ALONE_S, window_s), first)
            alone[role] = np.array([batches.seconds, batches.ran])
            own_s += batches.whole_cpu_s
        beside = positions.window(shuffled, max(TOGETHER_S, window_s), first)
        together[:, order] += np.array([(each.seconds, each.ran) for each in beside]).T
        own_s += sum(each.whole_cpu_s for each in beside)
    return Cycle(np.array([alone[role] for role in roles]).T, together, positions.clock.others_frac(began, own_s))


def estimate(cycles: Sequence[Cycle]) -> CoLocation:
    """Latencies over all batches, and the error of their ratio by the cycles' residuals (a ratio estimator's)."""
    alone_s, alone = _ratio(np.array([cycle.alone for cycle in cycles]))
    together_s, together = _ratio(np.array([cycle.together for cycle in cycles]))
    slowdown = together_s / alone_s
    free = max(1, len(cycles) - 1)
    error = slowdown * np.sqrt(((together - alone) ** 2).sum(axis=0) / free / len(cycles))
    return CoLocation(
        alone_s=tuple(alone_s.tolist()),
        together_s=tuple(together_s.tolist()),
        error=tuple(error.tolist()),
        others_frac=float(np.mean([cycle.others_frac for cycle in cycles])),
        cycles=len(cycles),
        seconds=0.0,
    )


def _ratio(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean latency [roles], and its relative residuals [cycles, roles], from sums [cycles, 2, roles]."""
    seconds, count = sums[:, 0], sums[:, 1]
    mean_s = seconds.sum(axis=0) / count.sum(axis=0)
    return mean_s, (seconds - mean_s * count) / (mean_s * count.mean(axis=0))

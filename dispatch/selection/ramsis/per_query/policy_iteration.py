"""Settles a semi-Markov process: the best gain, and what each state is worth beside it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, gmres

Floats = NDArray[np.float64]

DAMPING = 0.8
"""Share of the new value in each sweep of value iteration; below 1, since the process may be periodic."""

FIRST_SWEEPS = 2
"""Sweeps of value iteration with which a process without a start begins: the first policies are not worth solving."""

MOST_IMPROVEMENTS = 30
"""A policy is improved so often at most; four to ten times are enough nearly everywhere."""

STEPS = 24
"""Steps of GMRES between two improvements, at most."""

REDUCTION = 0.01
"""Share of the residual that is left when a policy counts as evaluated well enough to be improved."""

MOST_EVALUATIONS = 8
"""Runs of so many steps for the gain of the last policy, at most."""

PRECISION = 1e-5
"""The gain of a policy is known to this share of the highest possible one, unless its bounds say otherwise."""


class Process(Protocol):
    """A semi-Markov process whose policy can be improved or kept."""

    quickest_s: float
    slowest_s: float
    """How long a decision takes, at least and at most, on average over what happens then."""

    def improve(self, after: Floats, gain: float) -> Floats:
        """The values that follow from ``after`` under the best policy for them, which is kept from then on."""
        ...

    def follow(self, after: Floats, gain: float, rewarded: bool) -> Floats:
        """The same under the policy kept: affine in both, and linear where nothing is ``rewarded``."""
        ...


@dataclass(frozen=True, eq=False)
class Settled:
    """Values relative to the first one, the gain per second, and whether no policy is better by what matters."""

    after: Floats
    gain: float
    settled: bool


def settle(process: Process, start: Settled, tolerance: float, enough: float = -np.inf, cold: bool = True) -> Settled:
    """Policy iteration from ``start``: evaluations by GMRES, begun where ``cold`` with some sweeps of value iteration.

    Ends where an improvement changes no value, relative to the others, by ``tolerance`` or more; after
    `MOST_IMPROVEMENTS` unsettled. Also ends where the gain is sure to stay below ``enough``: it exceeds the present one
    by the largest change over the shortest decision at most.
    """
    after, gain = start.after, start.gain
    for number in range(MOST_IMPROVEMENTS):
        change = process.improve(after, gain) - after
        low, high = float(change.min()), float(change.max())
        if gain + max(high, 0.0) / process.quickest_s < enough:
            return Settled(after, gain, settled=True)
        if high - low < tolerance and abs(high + low) < tolerance:
            return Settled(after, gain, settled=True)
        if cold and number < FIRST_SWEEPS:
            after = after + DAMPING * change
            after -= after.flat[0]
            gain += 0.5 * (low + high) / process.slowest_s
        else:
            after, gain = _towards_fixed_point(process, after, gain, change)
    return Settled(after, gain, settled=False)


def gain_bounds(process: Process, start: Settled, highest_qps: float) -> tuple[float, float, Settled]:
    """Least and greatest gain per second that the policy kept can have, and its values.

    They follow from what one more step changes and from how long that takes: the gain is the present one and a mean
    of changes over a mean of times. They differ by `PRECISION` of ``highest_qps`` unless GMRES does not settle.
    """
    after, gain = start.after, start.gain
    taken_s = process.follow(np.zeros_like(after), -1.0, rewarded=False)
    for evaluation in range(MOST_EVALUATIONS + 1):
        change = process.follow(after, gain, rewarded=True) - after
        rate = change / taken_s
        low, high = gain + float(rate.min()), gain + float(rate.max())
        if high - low < PRECISION * highest_qps or evaluation == MOST_EVALUATIONS:
            break
        after, gain = _towards_fixed_point(process, after, gain, change)
    return low, high, Settled(after, gain, high - low < PRECISION * highest_qps)


def _towards_fixed_point(process: Process, after: Floats, gain: float, change: Floats) -> tuple[Floats, float]:
    """Values and gain with a smaller change under the policy kept.

    The first value stays 0: in its place in the unknowns is the gain, as the value of `Process.slowest_s`.
    """

    def difference(unknowns: Floats) -> Floats:
        values = unknowns.reshape(after.shape).copy()
        per_second = values.flat[0] / process.slowest_s
        values.flat[0] = 0.0
        return np.asarray(values - process.follow(values, per_second, rewarded=False)).ravel()

    size = after.size
    operator = LinearOperator((size, size), matvec=difference, dtype=np.float64)
    steps = min(STEPS, size)
    step, _ = gmres(operator, change.ravel(), rtol=REDUCTION, atol=0.0, restart=steps, maxiter=1)
    step = step.reshape(after.shape)
    moved = after + step
    moved.flat[0] = after.flat[0]
    if not np.isfinite(step).all():
        return after + DAMPING * (change - change.flat[0]), gain
    return moved, gain + float(step.flat[0]) / process.slowest_s

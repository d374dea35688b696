"""The history of a load."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries

DAY_S = 86_400


@dataclass(frozen=True)
class Gap:
    """Steps that nobody observed, from ``start_s`` for ``length_s``."""

    start_s: int
    length_s: int


@dataclass(frozen=True, eq=False)
class LoadSeries:
    """The load of one endpoint, step by step; steps that were not observed are left out.

    ``times_s``, shape ``[steps]``: when each step began, in seconds since the epoch (UTC), ascending, a multiple of
    ``step_s`` apart. ``loads_qps``, shape ``[steps]``: queries per second in each step, at least 0.

    Raises `BadSeries`.
    """

    times_s: NDArray[np.int64]
    loads_qps: NDArray[np.float64]
    step_s: int = 1

    def __post_init__(self) -> None:
        times_s, loads_qps = self.times_s, self.loads_qps
        if times_s.ndim != 1 or times_s.shape != loads_qps.shape:
            raise BadSeries(f"times of shape {times_s.shape}, loads of shape {loads_qps.shape}; give one load per time")
        if self.step_s < 1:
            raise BadSeries(f"step_s is {self.step_s}; give whole seconds, at least 1")
        if not len(loads_qps):
            raise BadSeries("the series is empty; give one load per step")
        wrong = ~(np.isfinite(loads_qps) & (loads_qps >= 0))
        if wrong.any():
            at = int(wrong.argmax())
            raise BadSeries(
                f"load {loads_qps[at]} at step {at} ({int(wrong.sum())} such steps in all); loads are finite and at "
                "least 0: leave out steps that were not observed"
            )
        apart_s = np.diff(times_s)
        wrong = (apart_s <= 0) | (apart_s % self.step_s != 0)
        if wrong.any():
            at = int(wrong.argmax())
            raise BadSeries(
                f"step {at + 1} comes {apart_s[at]} s after the one before; times ascend by multiples of the "
                f"{self.step_s} s of a step"
            )

    @classmethod
    def regular(cls, loads_qps: NDArray[np.float64], start_s: int = 0, step_s: int = 1) -> "LoadSeries":
        """A series without gaps from ``start_s`` on."""
        loads = np.asarray(loads_qps, dtype=np.float64)
        return cls(start_s + step_s * np.arange(len(loads), dtype=np.int64), loads, step_s)

    def __len__(self) -> int:
        return len(self.loads_qps)

    @property
    def start_s(self) -> int:
        """When the first step began."""
        return int(self.times_s[0])

    @property
    def end_s(self) -> int:
        """When the last step ended."""
        return int(self.times_s[-1]) + self.step_s

    @property
    def gaps(self) -> list[Gap]:
        """What is missing between the first step and the last."""
        apart_s = np.diff(self.times_s)
        return [
            Gap(int(self.times_s[at]) + self.step_s, int(apart_s[at]) - self.step_s)
            for at in np.flatnonzero(apart_s > self.step_s)
        ]

    def position(self, at_s: float) -> int:
        """How many steps began before an instant."""
        return int(np.searchsorted(self.times_s, at_s))

    def slice(self, first: int, last: int) -> "LoadSeries":
        """The steps from position ``first`` to before ``last``."""
        return LoadSeries(self.times_s[first:last], self.loads_qps[first:last], self.step_s)

    def between(self, start_s: float, end_s: float) -> "LoadSeries":
        """The steps that began from ``start_s`` to before ``end_s``; raises `BadSeries` where there are none."""
        return self.slice(self.position(start_s), self.position(end_s))

    def without_zeros(self) -> "LoadSeries":
        """Steps of load 0 count as not observed: a service that is never idle, but whose recorder stopped at times."""
        there = self.loads_qps > 0
        return LoadSeries(self.times_s[there], self.loads_qps[there], self.step_s)

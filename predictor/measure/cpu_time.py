"""How much of the CPUs other processes had while something was measured."""

import os
import time
from collections.abc import Collection
from typing import NamedTuple

import psutil

_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")


class CpuReading(NamedTuple):
    """CPU time of all processes since the machine started, at one instant of the monotonic clock."""

    at_s: float
    busy_s: float


class CpuClock:
    """Reads the CPU time of all processes on some CPUs; on all that this process may use, where none are given.

    The kernel counts it in ticks of 10 ms, so a share over a short time is a rough one.
    """

    def __init__(self, cpus: Collection[int] = ()) -> None:
        self.cpus = tuple(sorted(cpus or os.sched_getaffinity(0)))

    def read(self) -> CpuReading:
        """Now."""
        times = psutil.cpu_times(percpu=True)
        busy_s = sum(getattr(times[cpu], kind, 0.0) for cpu in self.cpus for kind in _BUSY)
        return CpuReading(time.perf_counter(), busy_s)

    def others_frac(self, since: CpuReading, own_s: float) -> float:
        """Share of the CPUs, 0 to 1, that others than the processes which computed ``own_s`` had since then."""
        now = self.read()
        others_s = now.busy_s - since.busy_s - own_s
        return min(1.0, max(0.0, others_s / ((now.at_s - since.at_s) * len(self.cpus))))

"""How busy the machine is, as far as work counts that does not yield to all other."""

import os
from collections.abc import Callable, Sequence

import psutil

MEASURED_S = 0.5
"""The system counts in hundredths of a second: shorter spans tell little."""


class MachineLoad:
    """The cores that this process may run on; ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since_s = clock()
        self._before = _seconds()
        self._busy_share = 0.0

    @property
    def busy_share(self) -> float:
        """Of the cores, over the last half second or since it was asked for last, what was at work; 0 to 1.

        Processes of low priority, such as those that make decision tables, do not count. 0 before anything is measured.
        """
        if self._clock() - self._since_s >= MEASURED_S:
            now = _seconds()
            passed_s = [after - before for after, before in zip(now, self._before, strict=True)]
            self._busy_share = min(passed_s[0] / max(sum(passed_s), 1e-9), 1.0)
            self._since_s, self._before = self._clock(), now
        return self._busy_share


def _seconds() -> Sequence[float]:
    """How long the cores were at work, and were not, since the machine started."""
    cores = psutil.cpu_times(percpu=True)
    if hasattr(os, "sched_getaffinity"):
        own = [cores[core] for core in os.sched_getaffinity(0) if core < len(cores)]
        cores = own or cores
    idle_s = sum(core.idle + getattr(core, "iowait", 0.0) + getattr(core, "nice", 0.0) for core in cores)
    known = ("user", "system", "irq", "softirq", "steal", "interrupt", "dpc")
    return sum(getattr(core, name, 0.0) for core in cores for name in known), idle_s

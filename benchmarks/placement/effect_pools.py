"""Two pools of worker processes, each bound to a CPU of its own, with the runtimes that serve."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from predictor.measure.cpu_time import CpuClock
from predictor.measure.positions import Positions, Role
from predictor.measure.program import Programs

LEAD_S = 0.03
"""From sending the queries to the start of their time."""

WORKERS = 2
"""Of each pool."""


class Query(NamedTuple):
    """Queries of one variant on one pool."""

    role: Role
    arrivals_s: tuple[float, ...]


class Observed(NamedTuple):
    """What became of queries that ran on both pools at the same time."""

    latencies_s: tuple[tuple[NDArray[np.float64], ...], ...]  # by pool and variant, each [queries]
    cpu_s: tuple[tuple[float, ...], ...]  # by pool and variant
    others_frac: float  # of both CPUs, that other processes had meanwhile


class Pools:
    """Workers of both pools; ends them when it is left. Each answers queries of one variant, a batch each, in turn.

    Raises `ConfigError` where this process may use one CPU only.
    """

    def __init__(self, programs: Programs) -> None:
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            raise ConfigError(f"two pools need two CPUs, and here is CPU {usable[0]} only; run on a larger machine")
        self.cpus = (usable[0], usable[1])
        self._programs = programs
        self._clock = CpuClock(self.cpus)
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as exits:
            self._pools = [exits.enter_context(Positions(self._programs, WORKERS, [cpu])) for cpu in self.cpus]
            self._threads = exits.enter_context(ThreadPoolExecutor(len(self.cpus)))
            self._exits = exits.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exits.__exit__(kind, error, at)

    def trial_s(self, role: Role) -> float:
        """Least seconds of a few batches of a variant alone."""
        return self._pools[0].trial_s(role)

    def observe(self, queries: Sequence[Sequence[Query]]) -> Observed:
        """Have each pool answer its queries, both from the same instant on; a pool may have none."""
        for pool, own in zip(self._pools, queries, strict=True):
            pool.load([each.role for each in own])
        start_s = time.perf_counter() + LEAD_S
        began = self._clock.read()
        waiting = [
            self._threads.submit(pool.answer, [each.role for each in own], [each.arrivals_s for each in own], start_s)
            for pool, own in zip(self._pools, queries, strict=True)
        ]
        answers = [each.result() for each in waiting]
        cpu_s = tuple(tuple(answered.cpu_s for answered in own) for own in answers)
        return Observed(
            latencies_s=tuple(tuple(np.array(answered.latencies_s) for answered in own) for own in answers),
            cpu_s=cpu_s,
            others_frac=self._clock.others_frac(began, sum(map(sum, cpu_s))),
        )

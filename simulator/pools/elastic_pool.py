"""A pool of workers that grows and shrinks in virtual time, one worker at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.loop.sizing import Sizing
from autoscaler.planners.planner import Planner
from catalog.errors import ConfigError
from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from dispatch.plan import Plan
from dispatch.worker_info import WorkerInfo
from simulator.traffic import Traffic

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PoolTimes:
    """The data path reports every ``report_s``; a worker serves ``start_s`` after it was asked for."""

    report_s: float = 1.0
    start_s: float = 60.0

    def __post_init__(self) -> None:
        if not 0 < self.report_s < inf:
            raise ConfigError(f"report_s is {self.report_s:g}; give a time above 0")
        if not 0 <= self.start_s < inf:
            raise ConfigError(f"start_s is {self.start_s:g}; give a time of at least 0")


@dataclass(frozen=True)
class PoolSize:
    """From ``at_s`` on there are so many workers ``asked`` for, of which so many are ``ready``."""

    at_s: float
    asked: int
    ready: int


class ElasticPool:
    """Decides for a `Host` how many of its workers there are; for one run of one host.

    Unlike with a `ControlPath`, whose plans wait for one another, a decision comes into force worker by worker: each
    that is asked for is ready ``start_s`` later, whatever is decided meanwhile, and one that is let go is gone at once,
    with its batch done. Those that are still starting go first, then the newest. The plan that the host has stays; the
    planner's plans only say how many workers the pool is to have. At one instant workers that are ready come before a
    report.

    ``workers`` are the ids of all that there may be, ``device`` is their type, ``variants`` is what each holds when it
    is ready. The size of the loop's initial plan is there at 0.
    """

    def __init__(
        self,
        loop: ControlLoop,
        planner: Planner,
        sizing: Sizing,
        plan: Plan,
        device: str,
        workers: Sequence[str],
        variants: frozenset[str],
        times: PoolTimes | None = None,
    ) -> None:
        self._loop = loop
        self._planner = planner
        self._sizing = sizing
        self._device = device
        self._free = list(reversed(workers))
        self._most = len(workers)
        self._variants = variants
        self._times = times or PoolTimes()
        self._reports = 0
        self._starting: list[tuple[float, str]] = []
        self._ready = [self._free.pop() for _ in range(self._bounded(loop.plan))]
        self.plan = plan
        self.traffic = Traffic({})
        self.sizes = [PoolSize(0.0, len(self._ready), len(self._ready))]

    @property
    def held(self) -> Mapping[str, frozenset[str]]:
        """What each worker holds that is ready."""
        return dict.fromkeys(self._ready, self._variants)

    @property
    def next_s(self) -> float:
        """When `act` is due next."""
        report_s = (self._reports + 1) * self._times.report_s
        return min(report_s, self._starting[0][0]) if self._starting else report_s

    def start(self, arrivals_s: Mapping[str, NDArray[np.float64]]) -> None:
        """The run begins: these arrivals, ascending, will come by endpoint."""
        self.traffic = Traffic(arrivals_s)

    def act(self, dispatcher: Dispatcher) -> list[Command]:
        """Do what is due at `next_s`, and give the dispatcher's commands."""
        now_s = self.next_s
        if self._starting and self._starting[0][0] <= now_s:
            return self._be_ready(dispatcher, now_s)
        self._reports += 1
        if self._loop.on_statistics(self.traffic.report(now_s)) is None:
            return []
        plan = self._planner.plan(self._loop.observation(now_s, self._there, self.held))
        self._loop.on_plan(plan)
        return self._resize(self._bounded(plan), dispatcher, now_s) if isinstance(plan, ClusterPlan) else []

    # -- inner steps ------------------------------------------------------------------------------------------

    @property
    def _there(self) -> dict[str, WorkerInfo]:
        return dict.fromkeys([*self._ready, *(worker for _, worker in self._starting)], WorkerInfo(self._device))

    def _bounded(self, plan: ClusterPlan) -> int:
        return min(plan.pool_sizes[self._device], self._most)

    def _resize(self, wanted: int, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        size = len(self._ready) + len(self._starting)
        decided = self._sizing.decide({self._device: wanted}, {self._device: size}, now_s)[self._device]
        for _ in range(decided - size):
            self._starting.append((now_s + self._times.start_s, self._free.pop()))
        gone = []
        for _ in range(size - decided):
            if self._starting:
                self._free.append(self._starting.pop()[1])
            else:
                gone.append(self._ready.pop())
        self._free += reversed(gone)
        self._note(now_s)
        return dispatcher.reassign(dict.fromkeys(gone, NOTHING), now_s) if gone else []

    def _be_ready(self, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        fresh = [worker for ready_s, worker in self._starting if ready_s <= now_s]
        self._starting = self._starting[len(fresh) :]
        self._ready += fresh
        self._note(now_s)
        return dispatcher.reassign(dict.fromkeys(fresh, self._variants), now_s)

    def _note(self, now_s: float) -> None:
        ready = len(self._ready)
        self.sizes.append(PoolSize(now_s, ready + len(self._starting), ready))


def worker_seconds(sizes: Sequence[PoolSize], start_s: float, end_s: float) -> float:
    """How long workers were there from ``start_s`` to ``end_s``, in sum: each from when it was asked for."""
    at_s = np.clip(np.array([each.at_s for each in sizes] + [np.inf]), start_s, end_s)
    return float(np.array([each.asked for each in sizes]) @ np.diff(at_s))

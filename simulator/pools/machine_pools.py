"""Pools of machines that come, go and are taken away in virtual time, and what each of them holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
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
from dispatch.worker_info import WorkerInfo
from simulator.pools.spot_market import Lease, MachinePool
from simulator.traffic import Traffic

NOTHING: frozenset[str] = frozenset()

LOST, READY, LOADED = range(3)
"""What happens to a machine; at one instant in this order."""


@dataclass(frozen=True)
class MachineTimes:
    """The data path reports every ``report_s``; a machine serves what it is to hold ``load_s`` after that is decided.

    Until then it serves what it held, and what is decided meanwhile takes as long anew.
    """

    report_s: float = 10.0
    load_s: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.report_s < inf:
            raise ConfigError(f"report_s is {self.report_s:g}; give a time above 0")
        if not 0 <= self.load_s < inf:
            raise ConfigError(f"load_s is {self.load_s:g}; give a time of at least 0")


class MachinePools:
    """Decides for a `Host` which workers there are and what they hold, as plans say; for one run of one host.

    A machine is a worker. Those that a plan's pool sizes ask for are started and hold what the plan names for them once
    they are there; those that it can spare go when ``sizing`` agrees, which makes its delay the idle timeout. Machines
    that are taken away are gone with what they run, and a plan is asked for at once. The dispatcher's plan stays: give
    the host one that offers every variant on every device type. ``workers`` are all that were ever there, by device
    type, and grow while the host runs.

    The loop's initial plan is in force at 0, with all its machines there. Machines that are taken away at an instant go
    before others are ready, those before they have loaded, and all that before a report.
    """

    def __init__(
        self,
        loop: ControlLoop,
        planner: Planner,
        sizing: Sizing,
        pools: Sequence[MachinePool],
        rng: np.random.Generator,
        times: MachineTimes | None = None,
    ) -> None:
        self._loop = loop
        self._planner = planner
        self._sizing = sizing
        self._pools = {pool.device: pool for pool in pools}
        self._rng = rng
        self._times = times or MachineTimes()
        self._reports = 0
        self._events: list[tuple[float, int, str]] = []
        self._leases: dict[str, Lease] = {}
        self._ended: list[Lease] = []
        self._wanted: dict[str, frozenset[str]] = {}
        self._held: dict[str, frozenset[str]] = {}
        self._loaded_s: dict[str, float] = {}  # by machine, when it will have what was decided last
        self.workers: dict[str, str] = {}
        self.lost = 0
        self.traffic = Traffic({})
        for worker in sorted(loop.plan.held):
            self._start(worker.rpartition("+")[0], loop.plan.held[worker], 0.0, 0.0)
        self._held = dict(self._wanted)

    @property
    def held(self) -> Mapping[str, frozenset[str]]:
        """What each worker holds that is ready."""
        return self._held

    @property
    def leases(self) -> list[Lease]:
        """All machines that were ever there, in the order in which they were asked for."""
        return sorted([*self._ended, *self._leases.values()], key=lambda lease: (lease.asked_s, lease.worker))

    @property
    def next_s(self) -> float:
        """When `act` is due next."""
        report_s = (self._reports + 1) * self._times.report_s
        return min(report_s, self._events[0][0]) if self._events else report_s

    def start(self, arrivals_s: Mapping[str, NDArray[np.float64]]) -> None:
        """The run begins: these arrivals, ascending, will come by endpoint."""
        self.traffic = Traffic(arrivals_s)

    def act(self, dispatcher: Dispatcher) -> list[Command]:
        """Do what is due at `next_s`, and give the dispatcher's commands."""
        now_s = self.next_s
        if self._events and self._events[0][0] <= now_s:
            _, kind, worker = heappop(self._events)
            if worker not in self._leases or (kind == LOADED and self._loaded_s[worker] > now_s):
                return []
            return self._lose(worker, dispatcher, now_s) if kind == LOST else self._hold([worker], dispatcher, now_s)
        self._reports += 1
        if self._loop.on_statistics(self.traffic.report(now_s)) is None:
            return []
        return self._replan(dispatcher, now_s)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _lose(self, worker: str, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        """A machine is taken away."""
        self.lost += 1
        self._end(worker, now_s)
        commands = dispatcher.on_workers_lost([worker], now_s)
        if self._loop.ask(f"{worker} was taken away") is not None:
            commands += self._replan(dispatcher, now_s)
        return commands

    def _replan(self, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        there = {worker: self._info(worker) for worker in self._leases}
        prices = {device: pool.offered_per_h(now_s) for device, pool in self._pools.items()}
        seen = replace(self._loop.observation(now_s, there, self._wanted), prices_per_h=prices)
        plan = self._planner.plan(seen)
        self._loop.on_plan(plan)
        return self._follow(plan, dispatcher, now_s) if isinstance(plan, ClusterPlan) else []

    def _follow(self, plan: ClusterPlan, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        for worker, lease in self._leases.items():
            if (wanted := plan.held.get(worker, NOTHING)) != self._wanted.get(worker, NOTHING):
                self._wanted[worker] = wanted
                if lease.ready_s <= now_s:
                    self._loaded_s[worker] = now_s + self._times.load_s
                    heappush(self._events, (self._loaded_s[worker], LOADED, worker))
        there = [lease.device for lease in self._leases.values()]
        sizes = {device: there.count(device) for device in self._pools}
        decided = self._sizing.decide(plan.pool_sizes, sizes, now_s)
        at_once = []
        for new in sorted(plan.held.keys() - self._leases.keys()):
            pool = self._pools[new.rpartition("+")[0]]
            if pool.offered_per_h(now_s) < inf:  # else nobody sells one
                worker = self._start(pool.device, plan.held[new], now_s, now_s + pool.start_s)
                if self._leases[worker].ready_s <= now_s:
                    at_once.append(worker)
        gone = []
        for device, size in decided.items():
            spare = sorted(
                (self._leases[worker] for worker in plan.spare if self._leases[worker].device == device),
                key=lambda lease: (lease.ready_s, lease.worker),
            )
            surplus = len([0 for each in self._leases.values() if each.device == device]) - size
            gone += [lease.worker for lease in spare[max(len(spare) - max(surplus, 0), 0) :]]
        for worker in gone:
            self._end(worker, now_s)
        commands = dispatcher.on_workers_lost(gone, now_s) if gone else []
        return commands + self._hold(at_once, dispatcher, now_s)

    def _start(self, device: str, wanted: frozenset[str], now_s: float, ready_s: float) -> str:
        """Ask for a machine, which is called as is returned; one that is ready at ``now_s`` has no event for that."""
        worker = f"{device}/{len(self.workers):04d}"
        self.workers[worker] = device
        self._wanted[worker] = wanted
        self._leases[worker] = Lease(worker, device, now_s, ready_s)
        if ready_s > now_s:
            heappush(self._events, (ready_s, READY, worker))
        taken_s = self._pools[device].taken_away_s(now_s, self._rng)
        if taken_s < inf:
            heappush(self._events, (taken_s, LOST, worker))
        return worker

    def _hold(self, workers: Sequence[str], dispatcher: Dispatcher, now_s: float) -> list[Command]:
        """Workers hold what they are to hold from now on."""
        commands: list[Command] = []
        for worker in workers:
            self._held[worker] = self._wanted[worker]
            commands += dispatcher.on_worker_ready(worker, self._info(worker), self._held[worker], now_s)
        return commands

    def _info(self, worker: str) -> WorkerInfo:
        pool = self._pools[self.workers[worker]]
        return WorkerInfo(pool.device, node=worker, preemptible=pool.preemptible)

    def _end(self, worker: str, now_s: float) -> None:
        self._ended.append(replace(self._leases.pop(worker), ended_s=now_s))
        self._wanted.pop(worker)
        self._held.pop(worker, None)
        self._loaded_s.pop(worker, None)

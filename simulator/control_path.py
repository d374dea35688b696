"""The control path in virtual time: reports, plans that take their time to come, and workers that load."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.placement.rollout import Rollout
from autoscaler.planners.planner import Planner
from catalog.errors import ConfigError
from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from dispatch.plan import Plan
from dispatch.worker_info import WorkerInfo, workers_of
from simulator.traffic import Traffic

Serving = Callable[[ClusterPlan, int], Plan]
"""Turns a plan for the cluster into one of that version for the dispatcher."""

Step = Callable[[Dispatcher, float], list[Command]]
"""Something that happens to the dispatcher at an instant."""

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ControlTimes:
    """How long things take, in seconds; they are charged, not measured, so that every run is the same.

    The data path reports every ``report_s``. A plan comes ``solve_s`` after it was asked for, and workers need
    ``load_s`` for variants that they do not hold. With ``make_before_break`` they go on serving what they hold
    meanwhile, for which they need the memory; without, they hold nothing until they have loaded.
    """

    report_s: float = 1.0
    solve_s: float = 0.0
    load_s: float = 1.0
    make_before_break: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.report_s < inf:
            raise ConfigError(f"report_s is {self.report_s:g}; give a time above 0")
        for name in ("solve_s", "load_s"):
            if not 0 <= getattr(self, name) < inf:
                raise ConfigError(f"{name} is {getattr(self, name):g}; give a time of at least 0")


@dataclass(frozen=True)
class PlanChange:
    """A plan that was asked for at ``asked_s``, and why.

    ``in_force_s`` is None where the planner had no answer, so that the plan before stayed. The run may end before
    ``in_force_s``. ``loading`` are the workers that have to load for it, by id.
    """

    asked_s: float
    reason: str
    plan: ClusterPlan | NoPlan
    in_force_s: float | None
    loading: tuple[str, ...] = ()


class ControlPath:
    """Has plans made for a `Host` and puts them in force; for one run of one host.

    ``workers`` maps worker id to device type; ``infos`` say where they stand, each on a node of its own where there are
    none. The loop's initial plan is in force at 0, with all its variants loaded:
    give `plan` to the host. Then, every ``report_s``, the loop hears of what happened, and where it gives a reason the
    planner is asked at once. The plan arrives ``solve_s`` later; workers that need variants load for ``load_s``, if
    any does; then the workers hold what it says and the dispatcher follows it, all at one instant: it is in force. No
    other plan is asked for until then. At one instant a plan that is due comes before a report.
    """

    def __init__(
        self,
        loop: ControlLoop,
        planner: Planner,
        serving: Serving,
        workers: Mapping[str, str],
        times: ControlTimes | None = None,
        infos: Mapping[str, WorkerInfo] | None = None,
    ) -> None:
        self._loop = loop
        self._planner = planner
        self._serving = serving
        self._workers = dict(workers)
        self._infos = workers_of(workers) if infos is None else infos
        self._times = times or ControlTimes()
        self._reports = 0
        self._under_way: list[tuple[float, Step]] = []
        self._check(loop.plan)
        self.held = loop.plan.held
        self.plan = serving(loop.plan, 1)
        self.changes = [PlanChange(0.0, "the initial plan", loop.plan, 0.0)]
        self.traffic = Traffic({})

    def start(self, arrivals_s: Mapping[str, NDArray[np.float64]]) -> None:
        """The run begins: these arrivals, ascending, will come by endpoint."""
        self.traffic = Traffic(arrivals_s)

    @property
    def next_s(self) -> float:
        """When `act` is due next."""
        report_s = self._next_report_s
        return min(report_s, self._under_way[0][0]) if self._under_way else report_s

    def act(self, dispatcher: Dispatcher) -> list[Command]:
        """Do what is due at `next_s`, and give the dispatcher's commands."""
        now_s = self.next_s
        if self._under_way and self._under_way[0][0] <= now_s:
            _, step = self._under_way.pop(0)
            return step(dispatcher, now_s)
        self._reports += 1
        reason = self._loop.on_statistics(self.traffic.report(now_s))
        if reason is not None:
            self._ask(reason, now_s)
        return []

    @property
    def _next_report_s(self) -> float:
        return (self._reports + 1) * self._times.report_s

    def _ask(self, reason: str, now_s: float) -> None:
        """Have a plan made and note what is to happen when."""
        times = self._times
        plan = self._planner.plan(self._loop.observation(now_s, self._infos, self.held))
        arrives_s = now_s + times.solve_s
        if isinstance(plan, NoPlan):
            self.changes.append(PlanChange(now_s, reason, plan, None))
            self._under_way = [(arrives_s, partial(self._give_up, plan))]
            return
        self._check(plan)
        holds = {worker: self.held.get(worker, NOTHING) for worker in self._workers}
        loading = tuple(Rollout(plan, holds, {}, {}).load_first)
        in_force_s = arrives_s + (times.load_s if loading else 0.0)
        self.changes.append(PlanChange(now_s, reason, plan, in_force_s, loading))
        if loading and not times.make_before_break:
            self._under_way.append((arrives_s, partial(self._unload, loading)))
        self._under_way.append((in_force_s, partial(self._put_in_force, plan)))

    def _check(self, plan: ClusterPlan) -> None:
        if strangers := sorted(plan.held.keys() - self._workers):
            raise ValueError(f"the plan has workers {', '.join(strangers)}, which are not there; plan without new ones")

    def _give_up(self, plan: NoPlan, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        self._loop.on_plan(plan)
        return []

    def _unload(self, workers: tuple[str, ...], dispatcher: Dispatcher, now_s: float) -> list[Command]:
        """The workers hold nothing from now on."""
        self.held = {worker: held for worker, held in self.held.items() if worker not in workers}
        return dispatcher.reassign(dict.fromkeys(workers, NOTHING), now_s)

    def _put_in_force(self, plan: ClusterPlan, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        changed = {
            worker: now_held
            for worker in self._workers
            if (now_held := plan.held.get(worker, NOTHING)) != self.held.get(worker, NOTHING)
        }
        self.held = plan.held
        self.plan = self._serving(plan, self.plan.version + 1)
        self._loop.on_plan(plan)
        return dispatcher.apply(self.plan, now_s, changed)

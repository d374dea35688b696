"""The control path in virtual time: reports, plans that take their time to come, and workers that load."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.placement.transition.fallback_loader import FallbackLoader
from autoscaler.placement.transition.parts import parts_of
from autoscaler.placement.transition.rollout import Rollout
from autoscaler.planners.planner import Planner
from catalog.errors import ConfigError
from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan, Plan
from dispatch.worker_info import WorkerInfo, workers_of
from simulator.traffic import Traffic

Serving = Callable[[ClusterPlan, int], Plan]
"""Turns a plan for the cluster into one of that version for the dispatcher."""

Step = Callable[[Dispatcher, float], list[Command]]
"""Something that happens to the dispatcher at an instant."""

NOTHING: frozenset[str] = frozenset()

SOON_S = 1e-3
"""What loads in no time is looked at again after so long."""


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
    any does; then the workers hold what it says and the dispatcher follows it, all at one instant: it is in force. The
    endpoints that share no worker with those that load do so when the plan arrives. No other plan is asked for until it
    is in force. At one instant a plan that is due comes before a report.

    Fallback variants come after that, one on each worker every ``load_s``; workers that load for the next plan load
    none, from the instant at which that is asked for. What the next plan has no use for is given up half loaded.
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
        self._fallbacks = FallbackLoader(loop.plan)
        self._loading: dict[str, tuple[str, float]] = {}
        self._busy: tuple[str, ...] = ()
        self._switched: dict[str, EndpointPlan] = {}
        """Endpoints that follow the plan under way already."""
        self.held: Mapping[str, frozenset[str]] = {
            worker: held | loop.plan.beside(worker) for worker, held in loop.plan.held.items()
        }
        self.plan = serving(loop.plan, 1)
        self.changes = [PlanChange(0.0, "the initial plan", loop.plan, 0.0)]
        self.traffic = Traffic({})

    def start(self, arrivals_s: Mapping[str, NDArray[np.float64]]) -> None:
        """The run begins: these arrivals, ascending, will come by endpoint."""
        self.traffic = Traffic(arrivals_s)

    @property
    def next_s(self) -> float:
        """When `act` is due next."""
        next_s = min(self._next_report_s, self._fallbacks_s)
        return min(next_s, self._under_way[0][0]) if self._under_way else next_s

    def act(self, dispatcher: Dispatcher) -> list[Command]:
        """Do what is due at `next_s`, and give the dispatcher's commands."""
        now_s = self.next_s
        if self._under_way and self._under_way[0][0] <= now_s:
            _, step = self._under_way.pop(0)
            return step(dispatcher, now_s)
        if self._fallbacks_s <= now_s:
            return self._load_fallbacks(dispatcher, now_s)
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
        self._busy = loading
        self._load_next(now_s)
        if loading and not times.make_before_break:
            self._under_way.append((arrives_s, partial(self._unload, loading)))
        if loading:
            self._under_way.append((arrives_s, partial(self._switch_ahead, plan, frozenset(loading))))
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

    def _switch_ahead(
        self, plan: ClusterPlan, loading: frozenset[str], dispatcher: Dispatcher, now_s: float
    ) -> list[Command]:
        """What shares no worker with those that load follows the plan already."""
        later = self._serving(plan, self.plan.version + 1)
        uses = {name: _variants(self.plan.endpoints.get(name), own) for name, own in later.endpoints.items()}
        holds = {worker: self.held.get(worker, NOTHING) for worker in self._workers}
        ready = [part for part in parts_of(plan, holds, uses) if not part.workers & loading]
        if not ready:
            return []
        self._switched = {name: later.endpoints[name] for part in ready for name in part.endpoints}
        workers = frozenset(worker for part in ready for worker in part.workers)
        self._busy += tuple(workers)
        self.plan = replace(later, endpoints={**self.plan.endpoints, **self._switched})
        held = {worker: own for worker, own in self.held.items() if worker not in workers}
        held |= {worker: plan.usable(worker, holds[worker]) for worker in plan.held if worker in workers}
        return dispatcher.apply(self.plan, now_s, self._hold(held, now_s))

    def _put_in_force(self, plan: ClusterPlan, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        held = {worker: plan.usable(worker, self.held.get(worker, NOTHING)) for worker in plan.held}
        self._busy = ()
        self._fallbacks = FallbackLoader(plan)
        later = self._serving(plan, self.plan.version + 1)
        self.plan = replace(later, endpoints={**later.endpoints, **self._switched})
        self._switched = {}
        self._loop.on_plan(plan)
        changed = self._hold(held, now_s)
        return dispatcher.apply(self.plan, now_s, changed)

    def _load_fallbacks(self, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        """Workers have the fallback variants by now that are due."""
        due = {worker: variant for worker, (variant, due_s) in self._loading.items() if due_s <= now_s}
        held = dict(self.held) | {worker: self.held[worker] | {variant} for worker, variant in due.items()}
        return dispatcher.reassign(self._hold(held, now_s), now_s)

    def _hold(self, held: Mapping[str, frozenset[str]], now_s: float) -> dict[str, frozenset[str]]:
        """Workers hold this from now on; gives what is new, by worker. They load the next of their fallbacks."""
        changed = {
            worker: now_held
            for worker in self._workers
            if (now_held := held.get(worker, NOTHING)) != self.held.get(worker, NOTHING)
        }
        self.held = held
        self._load_next(now_s)
        return changed

    def _load_next(self, now_s: float) -> None:
        """What is being loaded already goes on where it is still wanted."""
        done_s = now_s + max(self._times.load_s, SOON_S)
        before = self._loading
        self._loading = {
            worker: before[worker] if before.get(worker, ("",))[0] == variant else (variant, done_s)
            for worker, variant in self._fallbacks.next(self.held, self._busy).items()
        }

    @property
    def _fallbacks_s(self) -> float:
        """When the next fallback variant is there."""
        return min((due_s for _, due_s in self._loading.values()), default=inf)


def _variants(*plans: EndpointPlan | None) -> frozenset[str]:
    """What workers may be asked to run for an endpoint under any of these."""
    candidates = (own for plan in plans if plan is not None for own in plan.candidates.values())
    return frozenset(name for own in candidates for each in own for name in each.needs)

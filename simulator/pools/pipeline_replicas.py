"""The replicas of a pipeline's stages, which change with every plan in virtual time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from autoscaler.demand.demand import DemandEstimate
from autoscaler.placement.stage_service import StageService
from autoscaler.planners.ipa.solution import Active
from catalog.errors import ConfigError
from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from dispatch.flow.pipeline import PipelineFlow
from dispatch.plan import EndpointPlan, Plan
from dispatch.worker_info import WorkerInfo
from simulator.traffic import Traffic

Stages = Mapping[str, tuple[Active, ...]]
"""By stage what is to be active there, as `PipelineSolution` has it."""

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReplicaTimes:
    """The load is reported every ``report_s``, and planned for every ``interval_s``, a multiple of that.

    A new replica serves ``start_s`` after it was asked for (IPA, section 5.3: 8 s of every 10).
    """

    report_s: float = 1.0
    interval_s: float = 10.0
    start_s: float = 8.0

    def __post_init__(self) -> None:
        if not 0 < self.report_s < inf:
            raise ConfigError(f"report_s is {self.report_s:g}; give a time above 0")
        reports = self.interval_s / self.report_s
        if reports < 1 or not float(reports).is_integer():
            raise ConfigError(f"interval_s is {self.interval_s:g}; give a multiple of report_s, {self.report_s:g}")
        if not 0 <= self.start_s < inf:
            raise ConfigError(f"start_s is {self.start_s:g}; give a time of at least 0")


@dataclass(frozen=True)
class Replica:
    """One replica, which costs ``cost`` from ``asked_s`` to ``ended_s``; it holds ``also`` beside its own variant."""

    worker: str
    stage: str
    variant: str
    device: str
    cost: float
    asked_s: float
    ready_s: float
    ended_s: float = inf
    also: tuple[str, ...] = ()

    @property
    def held(self) -> frozenset[str]:
        """The variants that it holds."""
        return frozenset((self.variant, *self.also))


class PipelineReplicas:
    """Decides for a `Host` which replicas a pipeline's stages have; for one run of one host.

    ``decide`` gives what is to be active for a load in queries per second. What it says of a stage comes into force
    when all replicas that this takes are there: then batches have their new planned size, and replicas that are not
    needed any more get no further batch and go when theirs is done, which is seen at the next report. Until then the
    stage is as it was, so that it is never without replicas. A decision takes the place of one that is under way;
    replicas that start for what is not wanted any more go at once. At one instant, replicas that are ready come before
    a report.

    What is decided for the demand at the beginning is there at 0. ``workers`` are all that were ever there, by device
    type, and grow while the host runs.
    """

    def __init__(
        self,
        endpoint: EndpointPlan,
        demand: DemandEstimate,
        decide: Callable[[float], Stages],
        times: ReplicaTimes | None = None,
    ) -> None:
        if not isinstance(endpoint.flow, PipelineFlow):
            raise TypeError(f"endpoint {endpoint.name!r} has the flow {endpoint.flow.name!r}, which is no pipeline")
        self._endpoint = endpoint
        self._flow = endpoint.flow
        self._demand = demand
        self._decide = decide
        self._times = times or ReplicaTimes()
        self._reports = 0
        self._version = 1
        self._there: dict[str, Replica] = {}
        self._leaving: dict[str, Replica] = {}
        self._ended: list[Replica] = []
        self._pending: dict[str, float] = {}
        self._wanted: dict[str, tuple[Active, ...]] = dict(decide(self._load_qps))
        self._active = dict(self._wanted)
        self.decisions: list[tuple[float, Stages]] = [(0.0, self._active)]
        self.workers: dict[str, str] = {}
        self.traffic = Traffic({})
        for stage in self._wanted:
            self._start_missing(stage, 0.0, 0.0)
        self.plan = Plan(1, {endpoint.name: self._endpoint_plan()})

    @property
    def held(self) -> Mapping[str, frozenset[str]]:
        """What each worker holds that is ready and not leaving."""
        return {each.worker: each.held for each in self._there.values()}

    @property
    def replicas(self) -> list[Replica]:
        """All that were ever there, in the order in which they were asked for; infinite ends are of those that stay."""
        every = [*self._ended, *self._leaving.values(), *self._there.values()]
        return sorted(every, key=lambda each: (each.asked_s, each.worker))

    @property
    def next_s(self) -> float:
        """When `act` is due next."""
        return min([(self._reports + 1) * self._times.report_s, *self._pending.values()])

    def start(self, arrivals_s: Mapping[str, NDArray[np.float64]]) -> None:
        """The run begins: these arrivals, ascending, will come by endpoint."""
        self.traffic = Traffic(arrivals_s)

    def act(self, dispatcher: Dispatcher) -> list[Command]:
        """Do what is due at `next_s`, and give the dispatcher's commands."""
        now_s = self.next_s
        if due := [stage for stage, at_s in self._pending.items() if at_s <= now_s]:
            return self._switch(due, dispatcher, now_s)
        self._reports += 1
        self._demand.on_statistics(self.traffic.report(now_s))
        commands = self._end_idle(dispatcher, now_s)
        if self._reports % round(self._times.interval_s / self._times.report_s) == 0:
            commands += self._follow(self._decide(self._load_qps), dispatcher, now_s)
        return commands

    # -- inner steps ------------------------------------------------------------------------------------------

    @property
    def _load_qps(self) -> float:
        return self._demand.demand_qps().get(self._endpoint.name, 0.0)

    def _follow(self, wanted: Stages, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        self.decisions.append((now_s, wanted))
        self._wanted = dict(wanted)
        at_once = []
        for stage in wanted:
            self._pending.pop(stage, None)
            ready_s = self._start_missing(stage, now_s, now_s + self._times.start_s)
            for each in self._surplus(stage):
                if each.ready_s > now_s:  # asked for by a plan that is none any more
                    self._ended.append(replace(self._there.pop(each.worker), ended_s=now_s))
            if ready_s > now_s:
                self._pending[stage] = ready_s
            else:
                at_once.append(stage)
        return self._switch(at_once, dispatcher, now_s) if at_once else []

    def _start_missing(self, stage: str, now_s: float, ready_s: float) -> float:
        """Ask for the replicas that a stage lacks; gives when all that it is to have are ready."""
        latest_s = now_s
        for active in self._wanted[stage]:
            own = self._of(stage, active)[: active.replicas]
            for _ in range(active.replicas - len(own)):
                worker = f"{stage}/{len(self.workers):05d}"
                self.workers[worker] = active.device
                cost = active.cost / active.replicas
                own.append(
                    Replica(worker, stage, active.variant, active.device, cost, now_s, ready_s, also=active.also)
                )
                self._there[worker] = own[-1]
            latest_s = max([latest_s, *(each.ready_s for each in own)])
        return latest_s

    def _of(self, stage: str, active: Active) -> list[Replica]:
        """Replicas of a variant, those that are ready first to the front."""
        key = (stage, active.variant, active.device)
        own = [each for each in self._there.values() if (each.stage, each.variant, each.device) == key]
        return sorted(own, key=lambda each: (each.ready_s, each.worker))

    def _surplus(self, stage: str) -> list[Replica]:
        """Replicas that a stage is not to have."""
        kept = {each.worker for active in self._wanted[stage] for each in self._of(stage, active)[: active.replicas]}
        return [each for each in self._there.values() if each.stage == stage and each.worker not in kept]

    def _switch(self, stages: Sequence[str], dispatcher: Dispatcher, now_s: float) -> list[Command]:
        """What is wanted of these stages comes into force."""
        gone: list[Replica] = []
        for stage in stages:
            self._pending.pop(stage, None)
            self._active[stage] = self._wanted[stage]
            gone += self._surplus(stage)
        for each in gone:
            self._leaving[each.worker] = self._there.pop(each.worker)
        self._version += 1
        plan = Plan(self._version, {self._endpoint.name: self._endpoint_plan()})
        held = dict.fromkeys(self._leaving, NOTHING)
        commands: list[Command] = []
        for each in self._there.values():
            if each.stage in stages and each.worker not in dispatcher.workers:
                commands += dispatcher.on_worker_ready(each.worker, WorkerInfo(each.device), NOTHING, now_s)
                held[each.worker] = each.held
        commands += dispatcher.apply(plan, now_s, held)
        return commands + self._end_idle(dispatcher, now_s)

    def _end_idle(self, dispatcher: Dispatcher, now_s: float) -> list[Command]:
        """Replicas that are leaving go when they run nothing."""
        idle = [worker for worker in self._leaving if not dispatcher.workers[worker].under_way]
        self._ended += [replace(self._leaving.pop(worker), ended_s=now_s) for worker in idle]
        return dispatcher.on_workers_lost(idle, now_s) if idle else []

    def _endpoint_plan(self) -> EndpointPlan:
        """Every stage offers what is active there, in batches as planned, and leaves the stages behind their runs."""
        stages = {}
        for name, stage in self._endpoint.stages.items():
            every = self._active[name]
            run_s = max(each.run_s for each in every)
            active = {(each.device, variant) for each in every for variant in (each.variant, *each.also)}
            service = StageService(
                {
                    device: tuple(each for each in own if (device, each.variant) in active)
                    for device, own in stage.candidates.items()
                },
                self._after_s(name),
                {each.variant: each.batch_rows for each in every},
                wait_s=max(each.run_s + each.wait_s for each in every) - run_s,
                run_s=run_s,
            )
            stages[name] = service.of(stage)
        return replace(self._endpoint, stages=stages)

    def _after_s(self, stage: str) -> float:
        """The longest path of runs behind a stage."""
        return max(
            (
                self._after_s(node.name) + max(each.run_s for each in self._active[node.name])
                for node in self._flow.graph.nodes
                if stage in node.sources
            ),
            default=0.0,
        )


def mean_cost(replicas: Sequence[Replica], start_s: float, end_s: float) -> float:
    """Time-mean of what all replicas cost together from ``start_s`` to ``end_s``."""
    total = sum(each.cost * max(min(each.ended_s, end_s) - max(each.asked_s, start_s), 0.0) for each in replicas)
    return total / (end_s - start_s)

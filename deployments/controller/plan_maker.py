"""From what is observed to the plan that is to be made true."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.cluster.plan_record import to_record
from autoscaler.loop.sizing import Sizing
from autoscaler.placement.interference import Interference
from autoscaler.placement.measured_interference import MeasuredInterference
from autoscaler.placement.nodes import shared_nodes
from autoscaler.placement.serving import Service, services
from autoscaler.placement.standing import Standing, WorkerVariant, standings_of
from autoscaler.placement.transition.shrinking import ready_to_shrink
from autoscaler.planners.neighbours.neighbours import Neighbours
from autoscaler.planners.planner import Planner
from autoscaler.planners.registry import PlannerOptions, planner_kind
from catalog.errors import BadRequest, NoWorker
from deployments.controller.planner_process import PlannerProcess
from deployments.controller.slowdown_model import kept
from deployments.controller.variants.variant_book import cluster_of
from deployments.messages.control_settings import ControlSettings, EndpointSettings
from deployments.state.decisions import Decision
from deployments.state.saved_state import ControllerState
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.tables.work import worth_a_table


@dataclass(frozen=True)
class Change:
    """A plan to make true, how its endpoints are served, and the pool sizes once it is in force."""

    plan: ClusterPlan
    endpoints: Mapping[str, Service]
    sizes: Mapping[str, int]
    limit_bytes: Mapping[str, float]
    standings: Mapping[WorkerVariant, Standing] = field(default_factory=dict)


@dataclass(frozen=True)
class _PlannerOf:
    """Makes planners for clusters in the process that plans, from what can be sent there."""

    kind: str
    options: PlannerOptions

    def __call__(self, cluster: Cluster) -> Planner:
        return planner_kind(self.kind).make(cluster, self.options)


class PlanMaker:
    """Asks the planner, first for the sizes of pools where these are free, then for the workers that are there.

    With the model of the settings, or another ``interference``, it plans with what workers of one node do to each
    other, corrected by what was measured. To ask a model takes time, and is never done on the event loop.
    """

    def __init__(
        self,
        settings: ControlSettings,
        known: ControllerState,
        planners: PlannerProcess | None,
        publish_sizes: Callable[[Mapping[str, int]], None],
        interference: Interference | None = None,
    ) -> None:
        self._settings = settings
        self._known = known
        self._planners = planners
        self._publish_sizes = publish_sizes
        self._interference = interference or kept(settings.interference)
        self._sizing = Sizing(planner_kind(settings.planner).shrink_after_s)
        self._simulating = asyncio.Lock()

    def change(self, settings: ControlSettings) -> None:
        """Plan by these from now on."""
        self._settings = settings

    @property
    def sizes(self) -> dict[str, int]:
        """How many workers every pool shall have."""
        return {
            name: pool.bounds.within(self._known.sizes.get(name, pool.workers))
            for name, pool in self._settings.pools.items()
        }

    async def make(self, observation: Observation, decision: Decision, now_s: float) -> Change | None:
        """The change to make, None where there is none; ``decision`` learns why."""
        decision.demand_qps = dict(observation.demand_qps)
        candidates = self.candidates(now_s)
        sizes = await self._sizes(observation, candidates, now_s)
        there = Counter(observation.devices.values())
        self._known.start_ups.on_sizes(sizes, there, now_s)
        await self._publish({pool: max(size, there[pool]) for pool, size in sizes.items()})
        if not observation.workers:
            decision.why_not = "no worker is there yet"
            return None
        cluster = self._cluster(candidates, sizing=False)
        plan = await self._solve(cluster, _kept(observation, sizes), now_s)
        decision.solve_s = plan.report.solve_s
        if isinstance(plan, NoPlan):
            decision.why_not = " ".join(plan.report.explanation)
            return None
        plan = self._before_shrinking(plan, observation, sizes)
        decision.plan = to_record(plan)
        standings = await self._standings(plan, observation)
        decision.neighbours = [_neighbours_record(worker, each) for (worker, _), each in sorted(standings.items())]
        limit_bytes = {w: self._settings.pools[pool].memory_bytes for w, pool in observation.devices.items()}
        services = self._services(cluster, plan, observation, candidates)
        return Change(plan, services, sizes, limit_bytes, standings)

    async def shrink(self, sizes: Mapping[str, int]) -> None:
        """A change is in force: pools may lose workers now."""
        await self._publish(sizes)

    async def simulate(self, observation: Observation, load_qps: Mapping[str, float], now_s: float) -> dict[str, Any]:
        """The plan for such loads and the workers that are there, and the plan in force, as records.

        Endpoints that are not named have the load that they have. Raises `BadRequest` for loads that there cannot be.
        """
        for endpoint, qps in load_qps.items():
            if endpoint not in self._settings.endpoints:
                known = ", ".join(self._settings.endpoints)
                raise BadRequest(f"load_qps has endpoint {endpoint!r}, which is not there; there are {known}")
            if not 0 <= qps < float("inf"):
                raise BadRequest(f"load_qps of {endpoint!r} is {qps!r}; give queries per second, from 0")
        if not observation.workers:
            raise NoWorker("no worker is there yet to plan with; try again")
        cluster = self._cluster(self.candidates(now_s), sizing=True)
        async with self._simulating:  # one at a time, or plans would wait behind them all
            plan = await self._solve(
                cluster, replace(observation, demand_qps={**observation.demand_qps, **load_qps}), now_s
            )
        if isinstance(plan, NoPlan):
            raise NoWorker(" ".join(plan.report.explanation) or "the planner found no plan in time")
        decision = self._known.decisions.in_force
        return {"plan": to_record(plan), "now": None if decision is None else decision.plan}

    def candidates(self, now_s: float) -> dict[str, dict[str, tuple[Candidate, ...]]]:
        """By endpoint and pool what may answer there, as fast as it was lately, without what cannot be loaded there.

        Endpoints served by tables choose among their variants themselves, by what routers measure; they have the
        variants that some table could choose, unless the planner assigns variants to workers.
        """
        known = self._known
        barred = known.unloadable.in_pools(now_s)
        found = {}
        for name, endpoint in self._settings.endpoints.items():
            if endpoint.by_tables and not planner_kind(self._settings.planner).assigns:
                offered = known.book.candidates(endpoint, lambda _: 1.0, lambda _: 1.0, barred)
                found[name] = {pool: worth_a_table(own, endpoint.limits.slo_s) for pool, own in offered.items()}
            else:
                found[name] = known.book.candidates(
                    endpoint,
                    lambda key: known.runs.factor(key, now_s),
                    lambda pool: known.transport.factor(pool, now_s),
                    barred,
                )
        return found

    # -- inner steps ------------------------------------------------------------------------------------------

    def _cluster(self, candidates: Mapping[str, Mapping[str, tuple[Candidate, ...]]], *, sizing: bool) -> Cluster:
        return cluster_of(self._settings, candidates, self._known.book, sizing=sizing)

    async def _solve(self, cluster: Cluster, observation: Observation, now_s: float) -> ClusterPlan | NoPlan:
        """Endpoints that nobody asks for still get a worker: see `MovingMaximum`."""
        kind = planner_kind(self._settings.planner)
        tasks = {stage.task for endpoint in self._settings.endpoints.values() for stage in endpoint.stages.values()}
        settings = self._settings
        workers_per_task = len(observation.workers) / len(tasks)
        options = PlannerOptions(workers_per_task, settings.ipa, settings.proteus, settings.per_worker)
        if self._interference is not None and shared_nodes(observation.workers):
            corrected = MeasuredInterference(self._interference, self._known.slowdowns.corrections(now_s))
            planner: Planner = Neighbours(_PlannerOf(kind.name, options), cluster, corrected)
            if not kind.solves:
                return await asyncio.to_thread(planner.plan, observation)
        elif not kind.solves:
            return kind.make(cluster, options).plan(observation)
        else:
            planner = await asyncio.to_thread(kind.make, cluster, options)
        assert self._planners is not None
        return await self._planners.plan(planner, observation)

    async def _standings(self, plan: ClusterPlan, observation: Observation) -> dict[WorkerVariant, Standing]:
        if self._interference is None:
            return {}
        return await asyncio.to_thread(standings_of, plan, observation.workers, self._interference)

    async def _sizes(
        self, observation: Observation, candidates: Mapping[str, Mapping[str, tuple[Candidate, ...]]], now_s: float
    ) -> dict[str, int]:
        """The sizes that pools shall have, as far as they are within their bounds."""
        pools = self._settings.pools
        fixed = {name: pool.bounds.least for name, pool in pools.items() if pool.bounds.least == pool.bounds.most}
        if len(fixed) == len(pools):
            return fixed
        plan = await self._solve(self._cluster(candidates, sizing=True), observation, now_s)
        if isinstance(plan, NoPlan):
            return self.sizes | fixed
        asked = {n: pools[n].bounds.within(size) for n, size in plan.pool_sizes.items() if n not in fixed}
        return self.sizes | self._sizing.decide(asked, self.sizes, now_s) | fixed

    async def _publish(self, sizes: Mapping[str, int]) -> None:
        self._known.sizes = dict(sizes)
        await asyncio.to_thread(self._publish_sizes, sizes)

    def _before_shrinking(self, plan: ClusterPlan, observation: Observation, sizes: Mapping[str, int]) -> ClusterPlan:
        for pool, size in sizes.items():
            there = [worker for worker, of in observation.devices.items() if of == pool]
            if 0 < size < len(there):
                limit_bytes = self._settings.pools[pool].memory_bytes
                plan = ready_to_shrink(plan, there, self._known.book.memory_bytes, limit_bytes)
        return plan

    def _services(
        self,
        cluster: Cluster,
        plan: ClusterPlan,
        observation: Observation,
        candidates: Mapping[str, Mapping[str, tuple[Candidate, ...]]],
    ) -> dict[str, Service]:
        limits = {name: endpoint.limits for name, endpoint in self._settings.endpoints.items()}
        served = services(cluster, plan, observation.devices, limits)
        planned = planner_kind(self._settings.planner).assigns
        return {
            name: Service(
                endpoint.limits,
                self._offered(endpoint, self._as_profiled(served[name].candidates if planned else candidates[name])),
                served[name].shares if planned else None,
                served[name].kinds if planned else {},
                {
                    stage: replace(each, candidates=self._as_profiled(each.candidates))
                    for stage, each in served[name].stages.items()
                },
                overflow=served[name].overflow,
            )
            for name, endpoint in self._settings.endpoints.items()
        }

    def _as_profiled(self, by_pool: Mapping[str, tuple[Candidate, ...]]) -> dict[str, tuple[Candidate, ...]]:
        """The same batches without corrections: routers measure latency themselves, worker by worker."""
        book = self._known.book
        return {pool: tuple(book.as_profiled(each, pool) for each in own) for pool, own in by_pool.items()}

    def _offered(
        self, endpoint: EndpointSettings, by_pool: Mapping[str, tuple[Candidate, ...]]
    ) -> Mapping[str, tuple[Candidate, ...]]:
        """Tables are made by device type, not by pool: for the least rows that memory allows on one of its pools."""
        if not endpoint.by_tables:
            return by_pool
        found: dict[str, dict[str, Candidate]] = {}
        for pool, offered in by_pool.items():
            least = found.setdefault(self._settings.pools[pool].device, {})
            for each in offered:
                if each.variant not in least or each.max_batch < least[each.variant].max_batch:
                    least[each.variant] = each
        return {device: tuple(own.values()) for device, own in found.items()}


def _neighbours_record(worker: str, standing: Standing) -> dict[str, Any]:
    return {
        "node": standing.node,
        "machine": standing.machine,
        "worker": worker,
        "variant": standing.variant,
        "beside": [sorted(own) for own in standing.neighbours],
        "predicted": standing.predicted,
        "reckoned": standing.reckoned,
    }


def _kept(observation: Observation, sizes: Mapping[str, int]) -> Observation:
    """Only as many workers of each pool as there shall be: the first by id, since any may go."""
    kept = {
        worker: observation.workers[worker]
        for name, size in sizes.items()
        for worker in sorted(w for w, pool in observation.devices.items() if pool == name)[:size]
    }
    return replace(observation, workers=kept)

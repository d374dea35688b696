"""Makes one plan true on live workers and routers."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.transition.fallback_loader import FallbackLoader
from autoscaler.placement.transition.lacking import held_elsewhere, without
from autoscaler.placement.transition.rollout import Rollout
from catalog.variant import Variant
from deployments.controller.early_switch import EarlySwitch
from deployments.controller.plan_maker import Change, PlanMaker
from deployments.controller.routing_tables import RoutingContent, RoutingTables
from deployments.controller.worker_registry import CALL_TIMEOUT_S, WorkerRegistry
from deployments.state.decisions import Decision, DecisionState
from deployments.state.saved_state import ControllerState
from deployments.worker.client import WorkerGone

logger = logging.getLogger("ray.serve")

LEFT_OUT_S = 10.0
"""Serve says within a second or two that a worker is dead; one that it has not said so of by then lives."""

FOLLOW_S = 10.0
"""Routers switch within milliseconds; one that takes longer is as good as gone."""


class RolloutRunner:
    """Carries the steps of a `Rollout` out, one at a time, and of a `FallbackLoader` between two of them."""

    def __init__(
        self,
        worker_registry: WorkerRegistry,
        routing_tables: RoutingTables,
        known: ControllerState,
        maker: PlanMaker,
        clock: Callable[[], float],
    ) -> None:
        self._worker_registry = worker_registry
        self._routing_tables = routing_tables
        self._known = known
        self._maker = maker
        self._clock = clock
        self._begun = 0
        self._settled = ClusterPlan(report=SolveReport(Status.NO_ANSWER, None, 0.0))
        """The plan in force, without what single workers cannot load."""
        self._settled_run = 0
        """Which of the runs begun that is of."""
        self._settled_change: Change | None = None
        self._rollout: Rollout | None = None
        """That run's, which knows the workers that have gone since it began."""
        self._loading = asyncio.Lock()
        """Held by whoever has workers load or unload."""

    async def run(self, change: Change, decision: Decision, asked_s: float) -> str | None:
        """Make it true; gives the reason for another plan where that failed, None where it is in force.

        Workers that are gone meanwhile are left out. Fallback variants that are being loaded are waited for.
        """
        self._begun += 1
        number = self._begun
        async with self._loading:
            return await self._run(number, change, decision, asked_s)

    async def load_fallbacks(self, change: Change, decision: Decision) -> None:
        """Load what the plan in force has as fallback, and let routers use it as it comes.

        Ends when all is there that can be had, or when the next plan is to be made true, which may be so already.
        """
        rollout = self._rollout
        if rollout is None or change is not self._settled_change:
            return
        number, loader = self._settled_run, FallbackLoader(self._settled, rollout.orphans)
        while number == self._begun:
            async with self._loading:
                missing = loader.next(self._loaded(rollout)) if number == self._begun else {}
                if not missing:
                    return
                loads = (self._load_fallback(rollout, *each) for each in missing.items())
                for worker, reason in zip(missing, await asyncio.gather(*loads), strict=True):
                    if reason is not None and worker in self._worker_registry.reports:
                        loader.on_failed(worker, missing[worker])
                        self._bar(self._settled, decision, worker, missing[worker], reason)
                serves = loader.serves(self._loaded(rollout))
                await self._publish(change, decision, serves)

    async def why_again(self) -> str | None:
        """Why another plan is due though this one is in force: it does without workers that did not answer, and live.

        None where there are none, or the next plan is to be made true.
        """
        number = self._settled_run
        if not self._left_out:
            return None
        await asyncio.sleep(LEFT_OUT_S)
        left_out = self._left_out if number == self._begun else frozenset()
        left_out -= await self._worker_registry.dead(left_out)
        return f"worker {', '.join(sorted(left_out))} answers again" if left_out else None

    # -- inner steps ------------------------------------------------------------------------------------------

    async def _run(self, number: int, change: Change, decision: Decision, asked_s: float) -> str | None:
        lacking = self._known.unloadable.on_workers(self._clock())
        plan = without(change.plan, lacking, self._worker_registry.loaded(), self._pools)
        rollout = Rollout(plan, self._worker_registry.loaded(), self._known.book.memory_bytes, change.limit_bytes)
        decision.state = DecisionState.LOADING
        decision.loading = {worker: list(variants) for worker, variants in rollout.load_first.items()}
        before, broken = self._routing_tables.content, rollout.break_first.keys()
        await self._break(rollout, change, decision)
        early = EarlySwitch(rollout, plan, change.endpoints, self._routing_tables, self._find_lost, before, broken)

        def later() -> RoutingContent:
            return self._content(change, decision.version, rollout.serves, plan)

        async def load(worker: str, variants: Iterable[str]) -> None:
            await self._load(rollout, worker, variants)
            await early.switch(later)

        try:
            await early.switch(later)
            await asyncio.gather(*(load(*each) for each in rollout.load_first.items()))
        except Exception:
            await early.take_back(later, self._worker_registry.loaded())
            raise
        await self._find_lost(rollout, rollout.serves)
        if rollout.hopeless:
            failed = rollout.failed
            plan = without(plan, failed, rollout.holds, self._pools)
            barred = [self._bar(plan, decision, *key, reason) for key, reason in failed.items()]
            rollout.settle_for(plan)
            if not rollout.ready:
                await early.take_back(later, self._worker_registry.loaded())
                return self._give_up(barred, decision)
        self._settled, self._settled_run, self._settled_change, self._rollout = plan, number, change, rollout
        decision.workers = {
            worker: {"pool": report.info.pool, "device": report.info.device, "router": report.router}
            for worker, report in self._worker_registry.reports.items()
        }
        self._known.stand(decision.version, change.standings)
        version = await self._publish(change, decision, rollout.serves)
        if not await self._routing_tables.followed(version, FOLLOW_S):
            logger.warning("Some routers do not follow plan %d after %.0f s.", decision.version, FOLLOW_S)
        self._known.decisions.put_in_force(decision, asked_s, self._clock())
        for worker in decision.workers:
            if (report := self._worker_registry.reports.get(worker)) is not None:
                decision.workers[worker]["router"] = report.router
        self._forget_lost(rollout)
        await asyncio.gather(*(self._unload(*each) for each in rollout.unload.items()))
        await self._maker.shrink(change.sizes)
        return None

    @property
    def _left_out(self) -> frozenset[str]:
        there = frozenset() if self._rollout is None else self._rollout.holds.keys()
        return frozenset((self._settled.held.keys() & self._worker_registry.reports.keys()) - there)

    def _loaded(self, rollout: Rollout) -> dict[str, frozenset[str]]:
        """What workers have loaded, without those that the rollout has found dead before Serve says so."""
        return {worker: held for worker, held in self._worker_registry.loaded().items() if worker in rollout.holds}

    @property
    def _pools(self) -> dict[str, str]:
        return {worker: report.info.pool for worker, report in self._worker_registry.reports.items()}

    async def _break(self, rollout: Rollout, change: Change, decision: Decision) -> None:
        """Where old and new do not fit together: nobody may use what is about to be unloaded."""
        broken = rollout.break_first
        if not broken:
            return
        loaded = self._worker_registry.loaded()
        serves = {worker: held - broken.get(worker, frozenset()) for worker, held in loaded.items()}
        version = await self._routing_tables.publish(self._content(change, decision.version, serves, change.plan))
        await self._routing_tables.followed(version, FOLLOW_S)
        await asyncio.gather(*(self._unload(worker, sorted(variants)) for worker, variants in broken.items()))

    async def _load(self, rollout: Rollout, worker: str, variants: Iterable[str]) -> None:
        failed: dict[str, str] = {}
        try:
            for name in variants:
                if (reason := await self._try_load(worker, name)) is not None:
                    failed[name] = reason
            rollout.on_loaded(worker, self._worker_registry.loaded().get(worker, frozenset()), failed)
        except WorkerGone as error:
            logger.warning("Worker %s went while it was to load: %s", worker, error)
            rollout.on_lost(worker)

    def _fitting(self, name: str, worker: str) -> Variant:
        """A variant with batches that fit the worker's memory."""
        book = self._known.book
        return book.fitting(book.variant(name), self._pools.get(worker, ""))

    async def _load_fallback(self, rollout: Rollout, worker: str, name: str) -> str | None:
        """Why the worker cannot load it; None where it has, or is gone."""
        try:
            return await self._try_load(worker, name)
        except WorkerGone as error:
            logger.warning("Worker %s went while it was to load: %s", worker, error)
            rollout.on_lost(worker)
            return None

    async def _try_load(self, worker: str, name: str) -> str | None:
        """Why the worker cannot load it, None where it has; raises `WorkerGone`."""
        try:
            report = await self._worker_registry.load(worker, self._fitting(name, worker))
        except TimeoutError:
            return f"not loaded within {CALL_TIMEOUT_S:.0f} s"
        if name in report.loaded:
            self._known.unloadable.on_loaded(worker, name)
            return None
        return report.failed.get(name, "the worker did not say why")

    def _bar(self, plan: ClusterPlan, decision: Decision, worker: str, variant: str, reason: str) -> str:
        """Leave a variant out for a while, on this worker where others hold it, else in its pool; says so."""
        now_s, pool = self._clock(), self._pools[worker]
        decision.failed.setdefault(worker, {})[variant] = reason
        logger.error("Worker %s of pool %s cannot load variant %s: %s", worker, pool, variant, reason)
        if variant not in plan.held.get(worker, ()) and held_elsewhere(
            plan, worker, variant, self._worker_registry.loaded(), self._pools
        ):
            self._known.unloadable.bar_worker(worker, variant, reason, now_s)
            return f"{variant} cannot be loaded on worker {worker}"
        self._known.unloadable.bar_pool(pool, variant, reason, now_s)
        return f"{variant} cannot be loaded in pool {pool}"

    async def _unload(self, worker: str, variants: Iterable[str]) -> None:
        try:
            for name in variants:
                await self._worker_registry.unload(worker, name)
        except WorkerGone as error:
            logger.debug("Worker %s went with all that it held: %s", worker, error)

    async def _find_lost(self, rollout: Rollout, workers: Collection[str]) -> None:
        for worker in await self._worker_registry.dead(workers):
            rollout.on_lost(worker)
        self._forget_lost(rollout)

    def _forget_lost(self, rollout: Rollout) -> None:
        for worker in rollout.serves.keys() - self._worker_registry.reports.keys():
            rollout.on_lost(worker)

    def _give_up(self, barred: Iterable[str], decision: Decision) -> str:
        decision.state = DecisionState.GIVEN_UP
        decision.why_not = "; ".join(dict.fromkeys(barred)) or "workers do not hold what they were told to load"
        return decision.why_not

    async def _publish(self, change: Change, decision: Decision, serves: dict[str, frozenset[str]]) -> int:
        """Have routers use the workers for this, under the plan that was settled for; gives the version."""
        pools = self._pools
        self._known.unloadable.on_served((pools[w], name) for w, own in serves.items() if w in pools for name in own)
        return await self._routing_tables.publish(self._content(change, decision.version, serves, self._settled))

    def _content(
        self, change: Change, plan_version: int, serves: dict[str, frozenset[str]], settled: ClusterPlan
    ) -> RoutingContent:
        book = self._known.book
        slowdowns: dict[str, dict[str, float]] = {}
        for (worker, variant), standing in change.standings.items():
            slowdowns.setdefault(worker, {})[variant] = standing.reckoned
        return RoutingContent(
            plan_version=plan_version,
            endpoints=change.endpoints,
            serves=serves,
            planned=settled.held,
            profiled_s=book.profiled_s,
            transport_s=book.transport_s,
            emulated=book.emulated,
            origins=book.origins,
            slowdowns=slowdowns,
        )

"""Makes one plan true on live workers and routers."""

import asyncio
import logging
from collections.abc import Callable, Iterable

from autoscaler.placement.rollout import Rollout
from deployments.controller.plan_maker import Change, PlanMaker
from deployments.controller.routing_tables import RoutingContent, RoutingTables
from deployments.controller.worker_registry import WorkerRegistry
from deployments.state.decisions import Decision, DecisionState
from deployments.state.saved_state import ControllerState, Unloadable
from deployments.worker.client import WorkerGone

logger = logging.getLogger("ray.serve")

FOLLOW_S = 10.0
"""Routers switch within milliseconds; one that takes longer is as good as gone."""

UNLOADABLE_S = 60.0
"""How long the planner plans around a variant that could not be loaded, before it is tried again."""


class RolloutRunner:
    """Carries the steps of a `Rollout` out; one at a time."""

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

    async def run(self, change: Change, decision: Decision, asked_s: float) -> str | None:
        """Make it true; gives the reason for another plan where that failed, None where it is in force.

        Workers that are gone meanwhile are left out.
        """
        rollout = Rollout(
            change.plan, self._worker_registry.loaded(), self._known.book.memory_bytes, change.limit_bytes
        )
        decision.state = DecisionState.LOADING
        decision.loading = {worker: list(variants) for worker, variants in rollout.load_first.items()}
        await self._break(rollout, change, decision)
        await asyncio.gather(*(self._load(rollout, *each) for each in rollout.load_first.items()))
        self._forget_lost(rollout)
        if rollout.hopeless:
            return self._give_up(rollout, decision)
        decision.workers = {
            worker: {"pool": report.info.pool, "device": report.info.device, "router": report.router}
            for worker, report in self._worker_registry.reports.items()
        }
        self._known.stand(decision.version, change.standings)
        version = await self._routing_tables.publish(self._content(change, decision.version, rollout.serves))
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

    # -- inner steps ------------------------------------------------------------------------------------------

    async def _break(self, rollout: Rollout, change: Change, decision: Decision) -> None:
        """Where old and new do not fit together: nobody may use what is about to be unloaded."""
        broken = rollout.break_first
        if not broken:
            return
        loaded = self._worker_registry.loaded()
        serves = {worker: held - broken.get(worker, frozenset()) for worker, held in loaded.items()}
        version = await self._routing_tables.publish(self._content(change, decision.version, serves))
        await self._routing_tables.followed(version, FOLLOW_S)
        await asyncio.gather(*(self._unload(worker, sorted(variants)) for worker, variants in broken.items()))

    async def _load(self, rollout: Rollout, worker: str, variants: Iterable[str]) -> None:
        failed: dict[str, str] = {}
        try:
            for name in variants:
                report = await self._worker_registry.load(worker, self._known.book.variant(name))
                if name not in report.loaded:
                    failed[name] = report.failed.get(name, "the worker did not say why")
            rollout.on_loaded(worker, self._worker_registry.loaded().get(worker, frozenset()), failed)
        except WorkerGone as error:
            logger.warning("Worker %s went while it was to load: %s", worker, error)
            rollout.on_lost(worker)

    async def _unload(self, worker: str, variants: Iterable[str]) -> None:
        try:
            for name in variants:
                await self._worker_registry.unload(worker, name)
        except WorkerGone as error:
            logger.debug("Worker %s went with all that it held: %s", worker, error)

    def _forget_lost(self, rollout: Rollout) -> None:
        for worker in rollout.serves.keys() - self._worker_registry.reports.keys():
            rollout.on_lost(worker)

    def _give_up(self, rollout: Rollout, decision: Decision) -> str:
        """Remember what cannot be loaded where, so that the next plan does without."""
        words = []
        for (worker, variant), reason in rollout.failed.items():
            pool = self._worker_registry.reports[worker].info.pool
            logger.error("Worker %s of pool %s cannot load variant %s: %s", worker, pool, variant, reason)
            decision.failed.setdefault(worker, {})[variant] = reason
            self._known.unloadable[pool, variant] = Unloadable(reason, self._clock() + UNLOADABLE_S)
            words.append(f"{variant} cannot be loaded in pool {pool}")
        decision.state = DecisionState.GIVEN_UP
        decision.why_not = "; ".join(dict.fromkeys(words)) or "workers do not hold what they were told to load"
        return decision.why_not

    def _content(self, change: Change, plan_version: int, serves: dict[str, frozenset[str]]) -> RoutingContent:
        book = self._known.book
        slowdowns: dict[str, dict[str, float]] = {}
        for (worker, variant), standing in change.standings.items():
            slowdowns.setdefault(worker, {})[variant] = standing.reckoned
        return RoutingContent(
            plan_version=plan_version,
            endpoints=change.endpoints,
            serves=serves,
            profiled_s=book.profiled_s,
            transport_s=book.transport_s,
            emulated=book.emulated,
            slowdowns=slowdowns,
        )

"""Routers follow the parts of a change that have nothing to do with what is still being loaded."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.serving import Service
from autoscaler.placement.transition.parts import Part, parts_of
from autoscaler.placement.transition.rollout import Rollout
from deployments.controller.routing_tables import RoutingContent, RoutingTables

FindLost = Callable[[Rollout, Collection[str]], Awaitable[None]]
"""Tells a rollout which of the workers are gone."""


class EarlySwitch:
    """For one rollout of ``plan``, whose endpoints are served as in ``later``.

    Before anything was ever published nobody waits for anything, and there are no parts. A part that loses a worker
    switches with the rest. ``before`` is what routers followed before workers unloaded what is in ``broken``.
    """

    def __init__(
        self,
        rollout: Rollout,
        plan: ClusterPlan,
        later: Mapping[str, Service],
        routing_tables: RoutingTables,
        find_lost: FindLost,
        before: RoutingContent | None,
        broken: Collection[str],
    ) -> None:
        self._rollout = rollout
        self._routing_tables = routing_tables
        self._find_lost = find_lost
        self._before = before
        self._broken = frozenset(broken)
        self._switched: set[Part] = set()
        self._waiting: set[Part] = set()
        if (now := routing_tables.content) is not None:
            used = {name: service.variants for name, service in now.endpoints.items()}
            uses = {name: service.variants | used.get(name, frozenset()) for name, service in later.items()}
            self._waiting.update(parts_of(plan, rollout.holds, uses))

    async def switch(self, later: Callable[[], RoutingContent]) -> None:
        """Tell routers of what is ready by now; ``later`` gives what they are told when all is."""
        looked_at = [worker for part in self._ready() for worker in part.workers]
        if looked_at:
            await self._find_lost(self._rollout, looked_at)
        ready, before = self._ready(), self._routing_tables.content
        if ready and before is not None:
            self._waiting -= ready
            self._switched |= ready
            await self._routing_tables.publish(before.with_parts(later(), ready))

    async def take_back(self, later: Callable[[], RoutingContent], loaded: Mapping[str, frozenset[str]]) -> None:
        """The change is given up: all is as before again, as far as workers have ``loaded`` it, and stays so.

        Parts that switched stay as they are where what they held before was unloaded for it.
        """
        self._waiting.clear()
        if self._before is None or not (self._switched or self._broken):
            return
        stay = {part for part in self._switched if part.workers & self._broken}
        content = self._before.with_parts(later(), stay) if stay else self._before
        lacking = self._broken - {worker for part in stay for worker in part.workers}
        serves = {
            worker: own & loaded.get(worker, frozenset()) if worker in lacking else own
            for worker, own in content.serves.items()
        }
        await self._routing_tables.publish(replace(content, serves=serves))

    def _ready(self) -> set[Part]:
        """Parts that could switch now; none when everything can."""
        if self._rollout.ready:
            return set()
        there = self._rollout.holds.keys()
        return {part for part in self._waiting if part.workers <= there and self._rollout.is_ready(part.workers)}

"""Routers follow the parts of a change that have nothing to do with what is still being loaded."""

from collections.abc import Awaitable, Callable, Collection, Mapping

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
    switches with the rest.
    """

    def __init__(
        self,
        rollout: Rollout,
        plan: ClusterPlan,
        later: Mapping[str, Service],
        routing_tables: RoutingTables,
        find_lost: FindLost,
    ) -> None:
        self._rollout = rollout
        self._routing_tables = routing_tables
        self._find_lost = find_lost
        self._before = routing_tables.content
        self._switched = False
        self._waiting: set[Part] = set()
        if self._before is not None:
            before = {name: service.variants for name, service in self._before.endpoints.items()}
            uses = {name: service.variants | before.get(name, frozenset()) for name, service in later.items()}
            self._waiting.update(parts_of(plan, rollout.holds, uses))

    async def switch(self, later: Callable[[], RoutingContent]) -> None:
        """Tell routers of what is ready by now; ``later`` gives what they are told when all is."""
        looked_at = [worker for part in self._ready() for worker in part.workers]
        if looked_at:
            await self._find_lost(self._rollout, looked_at)
        ready, before = self._ready(), self._routing_tables.content
        if ready and before is not None:
            self._waiting -= ready
            self._switched = True
            await self._routing_tables.publish(before.with_parts(later(), ready))

    async def take_back(self) -> None:
        """The change is given up: all is as before again, of which nothing was unloaded, and stays so."""
        self._waiting.clear()
        if self._switched and self._before is not None:
            await self._routing_tables.publish(self._before)

    def _ready(self) -> set[Part]:
        """Parts that could switch now; none when everything can."""
        if self._rollout.ready:
            return set()
        there = self._rollout.holds.keys()
        return {part for part in self._waiting if part.workers <= there and self._rollout.is_ready(part.workers)}

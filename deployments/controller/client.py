"""The one place that calls the controller."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from ray.serve.handle import DeploymentHandle

from catalog.errors import AccordError, NoController
from deployments.messages.control import RouterReport, RouterState, RoutingTable
from deployments.state.learned_weights import Learned

T = TypeVar("T")

ANSWER_S = 5.0
CONDITION_S = 1.0
SIMULATE_S = 30.0
"""A solve may take its whole limit, after the one that is under way."""
REGISTER_S = 120.0
"""A worker of every pool loads the variant and measures it between the queries' batches."""


class ControllerClient:
    """Wraps the handle of the deployment ``Controller``; every method is one remote call.

    Raises `NoController` where no answer comes in time, and every `AccordError` of the controller as it was raised
    there. The dictionaries are JSON objects, as clients get them.
    """

    def __init__(self, handle: DeploymentHandle) -> None:
        self._handle = handle

    async def plan(self) -> dict[str, Any]:
        """The plan in force, why and how it came about, and what it rests on."""
        return await self._call(self._handle.plan.remote)

    async def condition(self) -> dict[str, Any]:
        """How the controller is."""
        return await self._call(self._handle.condition.remote, within_s=CONDITION_S)

    async def plans(self) -> list[dict[str, Any]]:
        """The decisions that are remembered, newest last."""
        return await self._call(self._handle.plans.remote)

    async def simulate(self, load_qps: Mapping[str, float]) -> dict[str, Any]:
        """The plan that such loads would get, and the one in force; endpoints that are not named keep theirs."""
        return await self._call(self._handle.simulate.remote, dict(load_qps), within_s=SIMULATE_S)

    async def register(self, variant: Mapping[str, Any]) -> dict[str, Any]:
        """Profile a variant, given as in a catalogue file, on every pool, and plan with it from then on."""
        return await self._call(self._handle.register.remote, dict(variant), within_s=REGISTER_S)

    async def unregister(self, variant: str) -> dict[str, Any]:
        """Plan without a registered variant from now on."""
        return await self._call(self._handle.unregister.remote, variant)

    async def take_back(self, variant: str) -> dict[str, Any]:
        """Plan again with a variant that was unregistered."""
        return await self._call(self._handle.take_back.remote, variant)

    async def report(self, report: RouterReport) -> None:
        """Tell what happened in a window."""
        await self._call(self._handle.report.remote, report)

    async def stand(self, router_state: RouterState) -> None:
        """Tell how a router stands, between two reports."""
        await self._call(self._handle.stand.remote, router_state)

    async def exchange_learned(self, router: str, learned: Learned) -> Learned:
        """Tell what labels have said to this router; gives what they said to all others."""
        return await self._call(self._handle.exchange_learned.remote, router, learned)

    async def routing_table(self, router: str, newer_than: int, wait_s: float) -> RoutingTable | None:
        """The routing table in force once it is newer than that version; None if there is none after ``wait_s``."""
        return await self._call(
            self._handle.routing_table.remote, router, newer_than, wait_s, within_s=wait_s + ANSWER_S
        )

    async def _call(self, remote: Callable[..., Awaitable[T]], *args: object, within_s: float = ANSWER_S) -> T:
        limit = asyncio.timeout(within_s)
        try:
            async with limit:
                return await remote(*args)
        except Exception as error:
            if limit.expired():
                raise NoController(
                    f"the controller did not answer within {within_s:g} s; it may be starting: try again"
                ) from error
            cause = getattr(error, "cause", None) or error  # a RayTaskError's text is the traceback from over there
            if isinstance(cause, AccordError):
                raise cause from error
            raise NoController(
                f"the controller gave no answer ({type(cause).__name__}: {cause}); try again, or see its log"
            ) from error

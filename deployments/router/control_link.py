"""A router's side of the control path: reports go to the controller, its routing tables come back."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from catalog.errors import NoController
from deployments.controller.client import ControllerClient
from deployments.messages.control import WINDOW_S, RouterReport
from deployments.router.router import Router
from dispatch.plan import Plan

logger = logging.getLogger("ray.serve")

RETRY_S = 0.2
WAIT_S = 20.0
"""A controller without news answers after so long."""

LOOK_S = 0.1
"""So often it looks whether the router is to leave."""

MOST_UNSENT = 1200
"""Reports kept for a controller that is away: ten minutes."""


class ControlLink:
    """Runs beside the router, on its event loop; while the controller is away the router goes on as it is.

    ``wall_clock`` gives seconds since the epoch: windows are the same for all routers. ``on_plan`` hears of the plan in
    force whenever the controller has put a newer one there. ``stopping`` says whether the router is to leave.
    """

    def __init__(
        self,
        router: Router,
        controller: ControllerClient,
        wall_clock: Callable[[], float],
        on_plan: Callable[[Plan], None] = lambda plan: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._router = router
        self._controller = controller
        self._wall_clock = wall_clock
        self._on_plan = on_plan
        self._stopping = stopping
        self._unsent: deque[RouterReport] = deque(maxlen=MOST_UNSENT)
        self._ended = asyncio.Event()
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Report and follow until cancelled; what goes wrong is logged, and everything begins anew."""
        self._router.on_change = self._changed.set
        while True:
            try:
                async with asyncio.TaskGroup() as group:
                    for work in (self._count(), self._report(), self._stand(), self._follow(), self._leave()):
                        group.create_task(work)
            except ExceptionGroup:
                logger.exception("The link to the controller broke; it is made again.")
                await asyncio.sleep(RETRY_S)

    async def _count(self) -> None:
        """End every window in time, whether the controller answers or not: several in one would look like a burst."""
        window = int(self._wall_clock() / WINDOW_S)
        while True:
            await asyncio.sleep(max((window + 1) * WINDOW_S - self._wall_clock(), 0.0))
            self._unsent.append(self._router.observer.meter.report(window, self._router.router_state()))
            self._ended.set()
            window = max(window + 1, int(self._wall_clock() / WINDOW_S))

    async def _report(self) -> None:
        """Windows in their order; none is left out after a controller was away."""
        while True:
            await self._ended.wait()
            self._ended.clear()
            while self._unsent:
                report = self._unsent[0]
                try:
                    await self._controller.report(replace(report, sent_s=self._wall_clock()))
                except NoController:
                    await asyncio.sleep(RETRY_S)
                    continue
                if self._unsent[0] is report:  # else newer ones have pushed it out
                    self._unsent.popleft()

    async def _stand(self) -> None:
        """Whenever workers come or go, so that the controller need not wait for the next report."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._controller.stand(self._router.router_state())
            except NoController:
                await asyncio.sleep(RETRY_S)  # the next report tells it

    async def _follow(self) -> None:
        while True:
            try:
                routing_table = await self._controller.routing_table(self._router.name, self._router.following, WAIT_S)
            except NoController:
                await asyncio.sleep(RETRY_S)
                continue
            if routing_table is not None:
                self._router.follow(routing_table)
                self._on_plan(self._router.plan)
                self._changed.set()

    async def _leave(self) -> None:
        """Its workers are of no use here once Serve sends nobody any more."""
        while not self._stopping():  # noqa: ASYNC110 - Serve has no event for it
            await asyncio.sleep(LOOK_S)
        self._router.leaving = True
        self._changed.set()

"""A router's reports and the controller's routing tables, with a controller that is away, comes back and has news."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import cast

import pytest

from catalog.errors import BadRequest, NoController
from deployments.controller.client import ANSWER_S, ControllerClient
from deployments.messages.control import WINDOW_S, RouterReport, RouterState, RoutingTable
from deployments.router import control_link
from deployments.router.control_link import RETRY_S, WAIT_S, ControlLink
from deployments.router.router import Router
from dispatch.plan import Plan
from router_scene import BOTH, Scene, routing, routing_table, service, settled, virtually
from virtual_time import wall_clock


@dataclass
class PlayedController:
    """Keeps what it is told, and has the routing table ``current``; ``away``, it answers nothing in time."""

    current: RoutingTable | None = None
    away: bool = False
    broken: bool = False
    reports: list[RouterReport] = field(default_factory=list)
    router_states: list[RouterState] = field(default_factory=list)
    asked: list[tuple[str, int]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def report(self, report: RouterReport) -> None:
        await self._answer()
        self.reports.append(report)

    async def stand(self, router_state: RouterState) -> None:
        await self._answer()
        self.router_states.append(router_state)

    async def routing_table(self, router: str, newer_than: int, wait_s: float) -> RoutingTable | None:
        self.asked.append((router, newer_than))
        await self._answer()
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while self.current is None or self.current.version <= newer_than:
                    await self.news.wait()
                    self.news.clear()
                return self.current
        return None

    def tell(self, current: RoutingTable) -> None:
        self.current = current
        self.news.set()

    async def _answer(self) -> None:
        await asyncio.sleep(0.001)
        if self.broken:
            raise BadRequest("played")
        if self.away:
            await asyncio.sleep(ANSWER_S)
            raise NoController("played")

    @property
    def windows(self) -> list[int]:
        return [report.window for report in self.reports]

    @property
    def arrived(self) -> list[int]:
        return [report.arrived.get("digits", 0) for report in self.reports]


@dataclass
class Linked:
    scene: Scene
    controller: PlayedController

    async def begin_window(self) -> int:
        """The number of the window that begins now."""
        number = int(wall_clock() / WINDOW_S) + 1
        await asyncio.sleep(number * WINDOW_S - wall_clock() + 0.01)
        return number

    def arrive(self, queries: int = 1) -> None:
        for _ in range(queries):
            self.scene.router.observer.meter.on_arrival("digits", 1)


@asynccontextmanager
async def linked(
    *,
    away: bool = False,
    on_plan: Callable[[Plan], None] = lambda plan: None,
    stopping: Callable[[], bool] = lambda: False,
) -> AsyncIterator[Linked]:
    async with routing() as scene:
        controller = PlayedController(away=away)
        link = ControlLink(scene.router, cast(ControllerClient, controller), wall_clock, on_plan, stopping)
        running = asyncio.create_task(link.run())
        await settled()
        yield Linked(scene, controller)
        assert not running.done()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


# -- reports --------------------------------------------------------------------------------------------------


@virtually
async def test_every_window_is_reported_when_it_is_over_with_what_arrived_in_it() -> None:
    async with linked() as link:
        first = await link.begin_window()
        link.controller.reports.clear()
        for queries in (3, 0, 5):
            link.arrive(queries)
            await asyncio.sleep(WINDOW_S)
        assert link.controller.windows == [first, first + 1, first + 2]
        assert link.controller.arrived == [3, 0, 5]


@virtually
async def test_windows_go_on_in_their_order_while_the_controller_is_away_and_are_told_when_it_is_back() -> None:
    async with linked() as link:
        first = await link.begin_window()
        link.controller.reports.clear()
        link.controller.away = True
        told = list(range(1, 31))
        for queries in told:
            link.arrive(queries)
            await asyncio.sleep(WINDOW_S)
        link.controller.away = False
        await asyncio.sleep(ANSWER_S + 2 * WINDOW_S)
        assert link.controller.windows[:30] == list(range(first, first + 30))
        assert link.controller.arrived[:30] == told, "a window holds what arrived in it, and no more"
        assert sum(link.controller.arrived[30:]) == 0


@virtually
async def test_of_an_absence_without_end_the_last_windows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_link, "MOST_UNSENT", 4)
    async with linked(away=True) as link:
        for _ in range(40):
            await asyncio.sleep(WINDOW_S)
        link.controller.away = False
        last = await link.begin_window()
        await asyncio.sleep(ANSWER_S + WINDOW_S)
        told = link.controller.windows
        assert told == list(range(told[0], told[-1] + 1))
        assert last - 10 <= told[0]
        assert told[-1] >= last


@virtually
async def test_a_report_says_how_the_router_stands() -> None:
    async with linked() as link:
        await link.scene.join("w1")
        await asyncio.sleep(2 * WINDOW_S)
        router_state = link.controller.reports[-1].router_state
        assert (router_state.router, router_state.following, router_state.using) == ("r1", 1, {"w1"})


# -- standings ------------------------------------------------------------------------------------------------


@virtually
async def test_the_controller_hears_at_once_that_a_worker_came_or_went_or_another_directive_is_followed() -> None:
    async with linked() as link:
        await link.scene.members("w1")
        await asyncio.sleep(0.05)
        for version, workers in ((1, {"w1": BOTH}), (2, {})):
            link.controller.tell(routing_table(version, workers))
            await asyncio.sleep(0.05)
            assert link.controller.router_states[-1].following == version
            assert link.controller.router_states[-1].using == workers.keys()


@virtually
async def test_a_state_that_could_not_be_told_is_in_the_next_report() -> None:
    async with linked() as link:
        link.controller.away = True
        await link.scene.join("w1")
        await asyncio.sleep(2 * ANSWER_S)
        link.controller.away = False
        await asyncio.sleep(ANSWER_S + 2 * WINDOW_S)
        assert link.controller.reports[-1].router_state.using == {"w1"}


# -- routing tables -----------------------------------------------------------------------------------------------


@virtually
async def test_a_directive_is_followed_when_there_is_one_and_the_next_is_asked_for() -> None:
    async with linked() as link:
        assert link.controller.asked == [("r1", 0)]
        link.controller.tell(routing_table(5, {}))
        await asyncio.sleep(0.05)
        assert link.scene.router.following == 5
        assert link.controller.asked == [("r1", 0), ("r1", 5)]


@virtually
async def test_a_controller_without_news_is_asked_again_and_again() -> None:
    async with linked() as link:
        await asyncio.sleep(3.5 * WAIT_S)
        assert link.controller.asked == [("r1", 0)] * 4
        link.controller.tell(routing_table(5, {}))
        await asyncio.sleep(0.05)
        assert link.scene.router.following == 5


@virtually
async def test_the_router_serves_on_while_the_controller_is_away_and_follows_it_when_it_is_back() -> None:
    async with linked() as link:
        await link.scene.members("w1")
        link.controller.tell(routing_table(1, {"w1": BOTH}))
        await asyncio.sleep(0.05)
        link.controller.away = True
        await asyncio.sleep(2 * WAIT_S)
        assert await link.scene.ask(4.0) == 8.0
        link.controller.away = False
        link.controller.tell(routing_table(2, {"w1": ("triple",)}))
        await asyncio.sleep(ANSWER_S + RETRY_S + 0.1)
        assert link.scene.router.following == 2
        assert await link.scene.ask(4.0) == 12.0


@virtually
async def test_a_controller_that_refuses_or_a_directive_that_cannot_be_followed_does_not_end_the_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with linked() as link:
        link.controller.broken = True
        await link.scene.join("w1")
        await asyncio.sleep(10 * WINDOW_S)
        link.controller.broken = False
        follow = Router.follow
        refused: list[int] = []

        def follow_unless_second(router: Router, news: RoutingTable) -> None:
            if news.version == 2 and not refused:
                refused.append(news.version)
                raise ValueError("played")
            follow(router, news)

        monkeypatch.setattr(Router, "follow", follow_unless_second)
        link.controller.tell(routing_table(2, {"w1": BOTH}))
        await asyncio.sleep(10 * RETRY_S)
        assert refused == [2]
        assert link.scene.router.following == 2
        last = await link.begin_window()
        await asyncio.sleep(WINDOW_S)
        assert link.controller.windows[-1] == last


@virtually
async def test_whoever_is_beside_the_router_hears_of_the_plan_with_every_routing_table() -> None:
    slos_s: list[float] = []
    async with linked(on_plan=lambda plan: slos_s.append(plan.endpoints["digits"].slo_s)) as link:
        for version, slo_s in ((1, 0.1), (2, 0.06)):
            link.controller.tell(routing_table(version, {"w1": BOTH}, endpoint=service(slo_s=slo_s)))
            await asyncio.sleep(0.1)
        assert slos_s == [0.1, 0.06]


@virtually
async def test_that_a_router_leaves_is_said_at_once_and_from_then_on() -> None:
    begin_s = wall_clock()
    async with linked(stopping=lambda: wall_clock() >= begin_s + 10.0) as link:
        await asyncio.sleep(9.9)
        assert not any(state.leaving for state in link.controller.router_states)
        await asyncio.sleep(0.3)
        assert link.controller.router_states[-1].leaving
        await link.begin_window()
        await asyncio.sleep(WINDOW_S)
        assert link.controller.reports[-1].router_state.leaving

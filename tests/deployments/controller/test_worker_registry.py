"""Who is there and what they hold, as the controller knows it; Serve and the workers are played."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from controller_parts import PlayedPool, variant

from deployments.controller import worker_registry as fleet_module
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.worker import WorkerReport
from deployments.worker import membership
from deployments.worker.client import WorkerClient, WorkerGone
from dispatch.worker_info import WorkerInfo
from virtual_time import in_virtual_time, until, wall_clock


@pytest.fixture(autouse=True)
def _own_membership(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_live", {})
    monkeypatch.setattr(membership, "_listeners", {})


class Scene:
    """A worker registry of pools cpu and gpu, and what it said of changes."""

    def __init__(self, *pools: PlayedPool) -> None:
        self.pools = {pool.name: pool for pool in pools or (PlayedPool("cpu"), PlayedPool("gpu"))}
        self.heard: list[tuple[str, bool]] = []
        clients = cast("dict[str, WorkerClient]", self.pools)
        self.worker_registry = WorkerRegistry(clients, lambda worker, came: self.heard.append((worker, came)))


def test_it_knows_all_once_every_pool_was_spoken_of_and_every_worker_has_answered() -> None:
    async def scene() -> None:
        played = Scene()
        played.pools["cpu"].come("w1")
        await played.worker_registry.start()
        assert not played.worker_registry.known
        await until(lambda: played.worker_registry.known)
        assert played.heard == [("w1", True)]
        assert played.worker_registry.reports["w1"].info.pool == "cpu"
        played.pools["gpu"].come("w2")
        await asyncio.sleep(0)
        assert not played.worker_registry.known
        await until(lambda: played.worker_registry.known)
        played.pools["cpu"].go("w1")
        await asyncio.sleep(0.1)
        assert played.heard == [("w1", True), ("w2", True), ("w1", False)]
        assert played.worker_registry.loaded() == {"w2": frozenset()}

    in_virtual_time(scene)


def test_a_pool_that_serve_has_not_spoken_of_is_not_known() -> None:
    async def scene() -> None:
        played = Scene()
        played.pools["gpu"].follow = lambda: None  # type: ignore[method-assign]
        await played.worker_registry.start()
        await asyncio.sleep(1.0)
        assert not played.worker_registry.known

    in_virtual_time(scene)


class Shy(PlayedPool):
    """Its workers answer the third time they are asked."""

    asked = 0

    async def describe(self, worker: str) -> WorkerReport:
        self.asked += 1
        if self.asked < 3:
            raise WorkerGone("not yet")
        return await super().describe(worker)


def test_a_new_worker_is_asked_until_it_answers() -> None:
    async def scene() -> None:
        pool = Shy("cpu")
        played = Scene(pool)
        pool.come("w1")
        await played.worker_registry.start()
        await until(lambda: played.worker_registry.known)
        assert pool.asked == 3
        assert played.heard == [("w1", True)]

    in_virtual_time(scene)


def test_a_worker_that_goes_before_it_answered_was_never_there() -> None:
    async def scene() -> None:
        pool = Shy("cpu")
        played = Scene(pool)
        pool.come("w1")
        await played.worker_registry.start()
        await asyncio.sleep(0)
        pool.go("w1")
        await asyncio.sleep(2.0)
        assert played.heard == []
        assert played.worker_registry.known

    in_virtual_time(scene)


def test_what_workers_are_told_shows_in_their_reports() -> None:
    async def scene() -> None:
        played = Scene()
        played.pools["cpu"].come("w1")
        played.pools["cpu"].broken["slow"] = "no such operator"
        await played.worker_registry.start()
        await until(lambda: played.worker_registry.known)
        await played.worker_registry.load("w1", variant("fast"))
        await played.worker_registry.assign("w1", "r1")
        report = await played.worker_registry.load("w1", variant("slow"))
        assert report.failed == {"slow": "no such operator"}
        assert played.worker_registry.reports["w1"] == WorkerReport(
            WorkerInfo("cpu", "cpu"), ("fast",), report.failed, 0, "r1"
        )
        await played.worker_registry.unload("w1", "fast")
        assert played.worker_registry.loaded() == {"w1": frozenset()}
        with pytest.raises(WorkerGone, match="w9"):
            await played.worker_registry.load("w9", variant("fast"))

    in_virtual_time(scene)


class Crossing(PlayedPool):
    """The answer to ``late`` takes ten seconds back, so that others overtake it."""

    late = ""

    async def assign(self, worker: str, router: str | None) -> WorkerReport:
        return await self._back("assign", super().assign(worker, router))

    async def unload(self, worker: str, variant: str) -> WorkerReport:
        return await self._back("unload", super().unload(worker, variant))

    async def _back(self, verb: str, answer: Awaitable[WorkerReport]) -> WorkerReport:
        report = await answer
        await asyncio.sleep(10.0 if verb == self.late else 0.0)
        return report


@pytest.mark.parametrize("late", ["assign", "unload"])
def test_an_answer_that_another_overtook_takes_nothing_back(late: str) -> None:
    async def scene() -> None:
        pool = Crossing("cpu")
        pool.late = late
        played = Scene(pool)
        pool.come("w1")
        await played.worker_registry.start()
        await until(lambda: played.worker_registry.known)
        await played.worker_registry.load("w1", variant("fast"))
        tell: dict[str, Callable[[], Awaitable[WorkerReport]]] = {
            "assign": lambda: played.worker_registry.assign("w1", "r1"),
            "unload": lambda: played.worker_registry.unload("w1", "fast"),
        }
        [other] = tell.keys() - {late}

        async def first() -> None:
            await tell[late]()

        overtaken = asyncio.create_task(first())
        await asyncio.sleep(1.0)
        await tell[other]()
        await overtaken
        assert played.worker_registry.reports["w1"].router == "r1"
        assert played.worker_registry.reports["w1"].loaded == ()

    in_virtual_time(scene)


def test_a_worker_that_never_answers_is_given_up_but_one_that_loads_for_long_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        pool = PlayedPool("cpu")
        played = Scene(pool)
        pool.come("w1")
        await played.worker_registry.start()
        await until(lambda: played.worker_registry.known)
        pool.load_s = 1e6
        begun_s = wall_clock()
        with pytest.raises(TimeoutError):
            await played.worker_registry.load("w1", variant("fast"))
        with pytest.raises(WorkerGone, match="w1 did not answer within 300 s"):
            await played.worker_registry.profile("w1", variant("fast"), 1e6)
        assert wall_clock() - begun_s == pytest.approx(2 * fleet_module.CALL_TIMEOUT_S)

    in_virtual_time(scene)

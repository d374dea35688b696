"""Who is let into a dispatcher and out of it, and when."""

import asyncio

import pytest
from router_workers_scene import following

from deployments.messages.control import WorkerRouting
from deployments.messages.worker import WorkerReport
from deployments.router.workers import DESCRIBE_RETRY_S, DESCRIBE_TIMEOUT_S, LEAVE_S
from deployments.worker.client import WorkerGone
from dispatch.worker_info import WorkerInfo
from router_scene import BOTH, ME, settled, virtually

PASS = None
"""A worker that is on its way from one router to another belongs to neither."""


# -- joining --------------------------------------------------------------------------------------------------


@virtually
async def test_a_worker_joins_when_it_is_alive_and_given_to_the_router_whichever_is_first() -> None:
    async with following() as scene:
        await scene.members("w1", "w2")
        assert scene.using == set()
        assert scene.pool.described == []
        await scene.given("w1", "w3")
        assert scene.using == {"w1"}
        await scene.members("w1", "w2", "w3")
        assert scene.using == {"w1", "w3"}
        assert scene.changes == 2


@pytest.mark.parametrize("other", ["r2", PASS])
@virtually
async def test_a_worker_that_obeys_another_router_is_asked_until_it_is_ours(other: str | None) -> None:
    async with following() as scene:
        scene.pool.assigned["w1"] = other
        await scene.members("w1")
        await scene.given("w1")
        await asyncio.sleep(10 * DESCRIBE_RETRY_S)
        assert scene.using == set()
        scene.pool.assigned["w1"] = ME
        await asyncio.sleep(DESCRIBE_RETRY_S)
        await settled()
        assert scene.using == {"w1"}


@virtually
async def test_a_worker_that_does_not_answer_is_asked_again() -> None:
    async with following() as scene:
        scene.pool.describe_failures = 3
        await scene.members("w1")
        await scene.given("w1")
        await asyncio.sleep(2.5 * DESCRIBE_RETRY_S)
        assert scene.using == set()
        await asyncio.sleep(DESCRIBE_RETRY_S)
        assert scene.using == {"w1"}
        assert scene.pool.described == ["w1"] * 4


@virtually
async def test_a_worker_that_hangs_when_asked_is_given_up_on_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with following() as scene:
        answering = scene.pool.describe
        hung = 0

        async def hang_once(worker: str) -> WorkerReport:
            nonlocal hung
            hung += 1
            if hung == 1:
                await asyncio.Event().wait()
            return await answering(worker)

        monkeypatch.setattr(scene.pool, "describe", hang_once)
        await scene.members("w1")
        await scene.given("w1")
        await asyncio.sleep(DESCRIBE_TIMEOUT_S + 2 * DESCRIBE_RETRY_S)
        assert scene.using == {"w1"}


@virtually
async def test_a_worker_that_is_taken_back_or_dies_while_it_is_asked_does_not_join() -> None:
    async with following() as scene:
        scene.pool.describe_failures = 2
        await scene.members("w1", "w2")
        await scene.given("w1", "w2")
        await scene.given("w2")
        await scene.members("w1")
        await asyncio.sleep(10 * DESCRIBE_RETRY_S)
        assert scene.using == set()
        assert scene.pool.described == ["w1", "w2"]


@virtually
async def test_a_worker_serves_what_it_shall_and_could_load() -> None:
    async with following() as scene:
        scene.pool.loaded = ("double",)
        scene.pool.failed = {"triple": "no such file"}
        await scene.members("w1", "w2")
        await scene.given(w1=("double", "triple"), w2=("triple",))
        assert {w: state.variants for w, state in scene.dispatcher.workers.items()} == {"w1": {"double"}, "w2": set()}
        assert scene.workers.reports["w1"].failed == {"triple": "no such file"}


@virtually
async def test_a_newer_table_say_what_workers_serve_from_then_on() -> None:
    async with following() as scene:
        await scene.members("w1", "w2")
        await scene.given("w1", "w2")
        assert scene.workers.follow(
            {
                "w1": WorkerRouting(WorkerInfo("cpu", "pool"), frozenset({"triple"}), ME),
                "w2": WorkerRouting(WorkerInfo("cpu", "pool"), frozenset(BOTH), "r2"),
                "w3": WorkerRouting(WorkerInfo("cpu", "pool"), frozenset(BOTH), ME),
            }
        ) == {"w1": {"triple"}, "w2": frozenset()}


# -- leaving --------------------------------------------------------------------------------------------------


@virtually
async def test_an_idle_worker_that_is_taken_away_leaves_at_once() -> None:
    async with following() as scene:
        await scene.members("w1", "w2")
        await scene.given("w1", "w2")
        before = scene.changes
        await scene.given("w2")
        assert scene.using == {"w2"}
        assert scene.changes == before + 1


@pytest.mark.parametrize("by", ["controller", "serve"])
@virtually
async def test_a_busy_worker_that_goes_answers_its_batch_itself_and_gets_no_other(by: str) -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        first, second = scene.ask(), scene.ask()
        if by == "serve":
            await scene.members()
        else:
            await scene.given()
        await asyncio.sleep(0.9 * LEAVE_S)
        assert scene.launched == [("w1", [first])]
        assert scene.using == {"w1"}, "the controller must not give it to another router yet"
        before = scene.changes
        scene.done("w1")
        assert [answer.query.id for answer in scene.answers] == [first]
        assert scene.using == set()
        assert scene.changes == before + 1
        assert scene.launched == [("w1", [first])]
        await scene.members("w2")
        await scene.given("w2")
        assert scene.launched == [("w1", [first]), ("w2", [second])]


@virtually
async def test_what_waits_for_a_worker_that_goes_is_placed_with_others_at_once() -> None:
    async with following() as scene:
        await scene.members("w1", "w2")
        await scene.given("w1", "w2")
        ids = [scene.ask() for _ in range(4)]
        await scene.members("w2")
        scene.done("w2")
        assert scene.launched == [("w1", ids[:1]), ("w2", ids[1:2]), ("w2", ids[2:])]


@virtually
async def test_a_worker_that_goes_too_slowly_loses_its_batch_to_others_and_its_call_is_given_up() -> None:
    async with following() as scene:
        await scene.members("w1", "w2")
        await scene.given("w1", "w2")
        query = scene.ask()
        (call,) = scene.workers.calls["w1"]
        await scene.members("w2")
        await asyncio.sleep(0.99 * LEAVE_S)
        assert scene.launched == [("w1", [query])]
        await asyncio.sleep(0.02 * LEAVE_S)
        assert scene.launched == [("w1", [query]), ("w2", [query])]
        assert call.cancelled()
        scene.done("w2")
        assert [answer.query.id for answer in scene.answers] == [query]


@virtually
async def test_a_worker_that_comes_back_while_it_leaves_stays_and_is_not_thrown_out_later() -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        first, second = scene.ask(), scene.ask()
        await scene.given()
        await scene.given("w1")
        await asyncio.sleep(2 * LEAVE_S)
        assert scene.launched == [("w1", [first])]
        scene.done("w1")
        assert scene.launched == [("w1", [first]), ("w1", [second])]
        assert scene.using == {"w1"}
        assert scene.pool.described == ["w1"]


@virtually
async def test_a_worker_that_serve_stops_stays_out_whatever_the_controller_says() -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        scene.ask()
        scene.ask()
        await scene.members()
        await scene.given("w1")
        scene.done("w1")
        await asyncio.sleep(10 * DESCRIBE_RETRY_S)
        assert len(scene.launched) == 1
        assert scene.using == set()
        assert scene.pool.forgotten == ["w1"]
        with pytest.raises(WorkerGone, match="Serve reported its loss"):
            scene.workers.client("w1")


@virtually
async def test_a_worker_that_serve_lost_sight_of_while_it_was_busy_joins_again_when_its_batch_is_done() -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        first, second = scene.ask(), scene.ask()
        await scene.members()
        await scene.members("w1")
        scene.done("w1")
        await asyncio.sleep(2 * DESCRIBE_RETRY_S)
        assert scene.using == {"w1"}
        assert scene.launched == [("w1", [first]), ("w1", [second])]


# -- losing ---------------------------------------------------------------------------------------------------


@virtually
async def test_a_worker_that_is_lost_is_asked_after_a_pause_and_comes_back() -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        query = scene.ask()
        scene.workers.lose("w1")
        await settled()
        assert scene.using == set()
        await asyncio.sleep(1.5 * DESCRIBE_RETRY_S)
        assert scene.using == {"w1"}
        assert scene.launched == [("w1", [query]), ("w1", [query])]


@virtually
async def test_a_worker_that_is_lost_while_it_leaves_is_not_taken_out_a_second_time() -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        scene.ask()
        await scene.given()
        scene.workers.lose("w1")
        await scene.given("w1")
        await asyncio.sleep(DESCRIBE_RETRY_S)
        (call,) = scene.workers.calls["w1"]
        await asyncio.sleep(2 * LEAVE_S)
        assert scene.using == {"w1"}
        assert not call.done()

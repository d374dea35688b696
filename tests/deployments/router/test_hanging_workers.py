"""Which workers a router says do not answer, and until when."""

import pytest
from router_workers_scene import Scene, following

from router_scene import now_s, settled, virtually


async def gone_silent(scene: Scene, worker: str) -> None:
    """A worker that the router has runs a batch, and its dispatcher gives it up; it goes on to be silent."""
    scene.pool.describe_failures = 10**6
    scene.carry_out(scene.dispatcher.on_workers_lost([worker], now_s()))
    scene.workers.give_up(worker)
    await settled()


def hanging(scene: Scene) -> set[str]:
    return set(scene.workers.events.to_record(now_s())["hanging_s"])


@virtually
async def test_a_worker_that_hangs_and_goes_to_another_router_is_not_said_to_hang_here() -> None:
    async with following() as scene:
        await scene.members("w1", "w2")
        await scene.given("w1", "w2")
        await gone_silent(scene, "w1")
        await gone_silent(scene, "w2")
        assert hanging(scene) == {"w1", "w2"}
        await scene.given("w2")
        assert hanging(scene) == {"w2"}
        await scene.members("w2")
        assert hanging(scene) == {"w2"}
        assert scene.workers.events.to_record(now_s())["counts"]["is gone"] == 0


@virtually
async def test_a_worker_that_hangs_and_is_replaced_is_not_said_to_hang_any_more() -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        await gone_silent(scene, "w1")
        await scene.members()
        assert hanging(scene) == set()
        assert scene.workers.events.to_record(now_s())["counts"]["is gone"] == 1


@pytest.mark.parametrize("by", ["controller", "serve"])
@virtually
async def test_a_worker_that_hangs_while_it_leaves_is_counted_and_not_said_to_hang(by: str) -> None:
    async with following() as scene:
        await scene.members("w1")
        await scene.given("w1")
        scene.ask()
        if by == "serve":
            await scene.members()
        else:
            await scene.given()
        await gone_silent(scene, "w1")
        assert hanging(scene) == set()
        assert scene.workers.events.to_record(now_s())["counts"]["does not answer"] == 1

"""Workers that go while one of their batches waits behind another."""

import asyncio

from router_workers_scene import following

from dispatch.latency.estimator import LatencyEstimator
from router_scene import now_s, settled, virtually


@virtually
async def test_a_worker_that_goes_is_waited_for_until_both_of_its_batches_are_back() -> None:
    async with following(LatencyEstimator(0.01)) as scene:
        await scene.members("w1")
        await scene.given("w1")
        first, second = scene.ask(0.1), scene.ask(0.1)
        await asyncio.sleep(0.05)
        scene.carry_out(scene.dispatcher.on_timer(now_s()))
        assert scene.launched == [("w1", [first]), ("w1", [second])]
        calls = set(scene.workers.calls["w1"])
        assert len(calls) == 2
        await scene.given()
        scene.done("w1")
        assert scene.using == {"w1"}
        scene.done("w1")
        assert scene.using == set()
        assert [answer.query.id for answer in scene.answers] == [first, second]


@virtually
async def test_both_calls_to_a_worker_that_is_lost_are_given_up() -> None:
    async with following(LatencyEstimator(0.01)) as scene:
        await scene.members("w1")
        await scene.given("w1")
        for _ in range(2):
            scene.ask(0.1)
        await asyncio.sleep(0.05)
        scene.carry_out(scene.dispatcher.on_timer(now_s()))
        calls = set(scene.workers.calls["w1"])
        assert len(calls) == 2
        scene.workers.lose("w1")
        await settled()
        assert all(call.cancelled() for call in calls)

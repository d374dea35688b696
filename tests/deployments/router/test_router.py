"""The router as host of the dispatcher: workers that come, go, hang and fail, with a client that plays them."""

import asyncio
import gc
import weakref
from contextvars import ContextVar

import numpy as np
import pytest

from catalog.errors import NoWorker, UnknownEndpoint, VariantFailed
from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from router_scene import TIMES, routing, settled, virtually

# -- batches --------------------------------------------------------------------------------------------------


@virtually
async def test_queries_that_wait_for_a_busy_worker_go_in_one_call() -> None:
    async with routing() as scene:
        await scene.join("w1")
        answers = await asyncio.gather(*(scene.ask(float(i)) for i in range(5)))
        assert answers == [0.0, 2.0, 4.0, 6.0, 8.0]
        assert [rows for _, _, rows in scene.pool.batches] == [1, 4]


@virtually
async def test_each_query_gets_its_own_rows_of_what_came_back_for_the_batch() -> None:
    async with routing() as scene:
        await scene.join("w1")
        rows = [1, 3, 2, 1]
        asked = [np.arange(10.0 * i, 10.0 * i + count) for i, count in enumerate(rows)]
        answers = await asyncio.gather(*(scene.router.infer("digits", {"x": x}, len(x), 5.0) for x in asked))
        for x, answer in zip(asked, answers, strict=True):
            np.testing.assert_array_equal(answer.outputs["y"], 2 * x)


@virtually
async def test_a_query_before_the_first_worker_waits_for_it() -> None:
    async with routing() as scene:
        waiting = asyncio.create_task(scene.ask(1.0))
        await asyncio.sleep(1.0)
        assert not waiting.done()
        assert not scene.router.ready("digits")
        await scene.join("w1")
        assert await waiting == 2.0
        assert scene.router.ready("digits")


@virtually
async def test_a_query_without_any_worker_gets_503_at_its_deadline() -> None:
    async with routing() as scene:
        with pytest.raises(NoWorker, match="no worker that holds a variant for endpoint 'digits'"):
            await scene.ask(1.0, slo_s=0.05)


@virtually
async def test_a_query_that_fails_leaves_nothing_for_the_garbage_collector() -> None:
    async def fail(inputs: Arrays) -> None:
        try:
            await scene.router.infer("digits", inputs, 1, 0.05)
        except NoWorker:
            return
        pytest.fail("there is no worker")

    async with routing() as scene:
        gc.disable()
        try:
            inputs = {"x": np.zeros(1)}
            kept = weakref.ref(inputs["x"])
            await fail(inputs)
            inputs = {"x": np.zeros(1)}  # of the last one the event loop's timer still knows
            await fail(inputs)
            assert kept() is None
        finally:
            gc.enable()


@virtually
async def test_a_cancelled_query_is_withdrawn() -> None:
    async with routing() as scene:
        scene.pool.hanging.add("w1")
        await scene.join("w1")
        first = asyncio.create_task(scene.ask(1.0))
        second = asyncio.create_task(scene.ask(2.0))
        await settled()
        assert scene.queued == 1
        second.cancel()
        await settled()
        assert scene.queued == 0
        first.cancel()


@virtually
async def test_an_unknown_endpoint_is_refused_with_the_known_ones() -> None:
    async with routing() as scene:
        with pytest.raises(UnknownEndpoint, match="endpoints here: digits"):
            await scene.router.infer("nope", {}, 1, None)


# -- failures -------------------------------------------------------------------------------------------------


@virtually
async def test_the_batch_of_a_worker_that_died_is_answered_by_another() -> None:
    async with routing() as scene:
        scene.pool.dead.add("w1")
        await scene.join("w1", "w2")
        assert await asyncio.gather(*(scene.ask(float(i)) for i in range(6))) == [2.0 * i for i in range(6)]
        assert {worker for worker, _, _ in scene.pool.batches} == {"w1", "w2"}


@virtually
async def test_the_batch_of_a_worker_that_serve_reports_lost_is_answered_by_another_when_it_took_too_long() -> None:
    async with routing() as scene:
        scene.pool.hanging.add("w1")
        await scene.join("w1")
        waiting = asyncio.create_task(scene.ask(1.0, slo_s=60.0))
        await settled()
        await scene.members("w2")
        await scene.follow("w2")
        await asyncio.sleep(4.9)
        assert not waiting.done()
        await asyncio.sleep(0.2)
        assert await waiting == 2.0
        assert [worker for worker, _, _ in scene.pool.batches] == ["w1", "w2"]


@virtually
async def test_a_worker_that_never_answers_counts_as_lost() -> None:
    async with routing() as scene:
        scene.pool.hanging.add("w1")
        await scene.join("w1", "w2")
        assert await asyncio.gather(*(scene.ask(float(i), 120.0) for i in range(3))) == [0.0, 2.0, 4.0]


@virtually
async def test_a_worker_that_was_only_unreachable_comes_back() -> None:
    async with routing() as scene:
        await scene.join("w1")
        scene.pool.dead.add("w1")
        scene.pool.describe_failures = 3
        waiting = asyncio.create_task(scene.ask(1.0))
        await asyncio.sleep(0.01)
        assert scene.router.workers.using == frozenset()
        scene.pool.dead.clear()
        assert await waiting == 2.0


@virtually
async def test_a_variant_that_raises_is_replaced_by_another() -> None:
    def brittle(variant: str, inputs: Arrays) -> BatchResult:
        good = BatchResult({"y": inputs["x"] * TIMES[variant]}, 0.001)
        return BatchResult({}, 0.0, "RuntimeError: broken") if variant == "double" else good

    async with routing() as scene:
        scene.pool.workers["w1"] = brittle
        await scene.join("w1")
        assert await scene.ask(1.0) == 3.0


@virtually
async def test_a_query_that_no_variant_can_take_gets_503_with_the_reason_and_the_next_is_served() -> None:
    def poisoned(variant: str, inputs: Arrays) -> BatchResult:
        good = BatchResult({"y": inputs["x"] * TIMES[variant]}, 0.001)
        return BatchResult({}, 0.0, "ValueError: thirteen") if 13.0 in inputs["x"] else good

    async with routing() as scene:
        scene.pool.workers["w1"] = poisoned
        await scene.join("w1")
        outcomes = await asyncio.gather(*(scene.ask(float(i)) for i in (12, 13, 14, 15)), return_exceptions=True)
        assert isinstance(outcomes[1], VariantFailed)
        assert "ValueError: thirteen" in str(outcomes[1])
        assert all(not isinstance(o, BaseException) for i, o in enumerate(outcomes) if i != 1)
        assert await scene.ask(1.0) == 2.0


REQUEST: ContextVar[str] = ContextVar("request", default="nobody's")


@virtually
async def test_a_batch_does_not_end_with_the_request_that_set_it_going() -> None:
    async with routing() as scene:
        await scene.join("w1")
        run, seen = scene.pool.run, []

        async def noted(worker: str, variant: str, inputs: Arrays) -> BatchResult:
            seen.append(REQUEST.get())
            return await run(worker, variant, inputs)

        scene.pool.run = noted  # type: ignore[method-assign]
        REQUEST.set("a client's")
        assert await scene.ask(1.0) == 2.0
        assert seen == ["nobody's"], "Serve knows by its context which calls a request has made"

"""The router as host of the dispatcher: workers that come, go, hang and fail, with a client that plays them."""

import asyncio
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest

from catalog.errors import NoWorker, UnknownEndpoint, VariantFailed
from catalog.tensor import Arrays
from deployments.worker_messages import BatchResult
from dispatch.guarantee import BUCKET_S, TARGET_RATE, WINDOW_S
from dispatch.plan import Plan
from router_scene import BATCH_S, DOUBLE, ME, TIMES, Scene, by_tables, routing, settled, virtually

# -- batches --------------------------------------------------------------------------------------------------


@virtually
async def test_queries_that_wait_for_a_busy_worker_go_in_one_call() -> None:
    async with routing() as scene:
        await scene.crew("w1")
        answers = await asyncio.gather(*(scene.ask(float(i)) for i in range(5)))
        assert answers == [0.0, 2.0, 4.0, 6.0, 8.0]
        assert [rows for _, _, rows in scene.pool.batches] == [1, 4]


@virtually
async def test_each_query_gets_its_own_rows_of_what_came_back_for_the_batch() -> None:
    async with routing() as scene:
        await scene.crew("w1")
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
        await scene.crew("w1")
        assert await waiting == 2.0
        assert scene.router.ready("digits")


@virtually
async def test_a_query_without_any_worker_gets_503_at_its_deadline() -> None:
    async with routing() as scene:
        with pytest.raises(NoWorker, match="no worker that holds a variant for endpoint 'digits'"):
            await scene.ask(1.0, slo_s=0.05)


@virtually
async def test_a_cancelled_query_is_withdrawn() -> None:
    async with routing() as scene:
        scene.pool.hanging.add("w1")
        await scene.crew("w1")
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
        await scene.crew("w1", "w2")
        assert await asyncio.gather(*(scene.ask(float(i)) for i in range(6))) == [2.0 * i for i in range(6)]
        assert {worker for worker, _, _ in scene.pool.batches} == {"w1", "w2"}


@virtually
async def test_the_batch_of_a_worker_that_serve_reports_lost_is_answered_by_another_when_it_took_too_long() -> None:
    async with routing() as scene:
        scene.pool.hanging.add("w1")
        await scene.crew("w1")
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
        await scene.crew("w1", "w2")
        assert await asyncio.gather(*(scene.ask(float(i), 120.0) for i in range(3))) == [0.0, 2.0, 4.0]


@virtually
async def test_a_worker_that_was_only_unreachable_comes_back() -> None:
    async with routing() as scene:
        await scene.crew("w1")
        scene.pool.dead.add("w1")
        scene.pool.describe_failures = 3
        waiting = asyncio.create_task(scene.ask(1.0))
        await asyncio.sleep(0.01)
        assert scene.router.crew.using == frozenset()
        scene.pool.dead.clear()
        assert await waiting == 2.0


@virtually
async def test_a_variant_that_raises_is_replaced_by_another() -> None:
    def brittle(variant: str, inputs: Arrays) -> BatchResult:
        good = BatchResult({"y": inputs["x"] * TIMES[variant]}, 0.001)
        return BatchResult({}, 0.0, "RuntimeError: broken") if variant == "double" else good

    async with routing() as scene:
        scene.pool.workers["w1"] = brittle
        await scene.crew("w1")
        assert await scene.ask(1.0) == 3.0


@virtually
async def test_a_query_that_no_variant_can_take_gets_503_with_the_reason_and_the_next_is_served() -> None:
    def poisoned(variant: str, inputs: Arrays) -> BatchResult:
        good = BatchResult({"y": inputs["x"] * TIMES[variant]}, 0.001)
        return BatchResult({}, 0.0, "ValueError: thirteen") if 13.0 in inputs["x"] else good

    async with routing() as scene:
        scene.pool.workers["w1"] = poisoned
        await scene.crew("w1")
        outcomes = await asyncio.gather(*(scene.ask(float(i)) for i in (12, 13, 14, 15)), return_exceptions=True)
        assert isinstance(outcomes[1], VariantFailed)
        assert "ValueError: thirteen" in str(outcomes[1])
        assert all(not isinstance(o, BaseException) for i, o in enumerate(outcomes) if i != 1)
        assert await scene.ask(1.0) == 2.0


# -- status ---------------------------------------------------------------------------------------------------


@virtually
async def test_the_status_counts_what_happened() -> None:
    async with routing() as scene:
        scene.pool.failed = {"other": "no such file"}
        await scene.crew("w1")
        await asyncio.gather(*(scene.ask(float(i)) for i in range(10)))
        status: dict[str, Any] = scene.router.status()
        assert (status["routers"], status["plan_version"]) == ([ME], 1)
        seen = status["endpoints"]["digits"]
        assert (seen["arrived"], seen["answered"], seen["rejected"], seen["violations"]) == (10, 10, 0, 0)
        assert seen["variants"] == {"double": {"queries": 10, "share": 1.0, "expected_accuracy": 0.9}}
        assert seen["latency_ms"]["p50"] <= seen["latency_ms"]["p99"]
        assert status["workers"]["w1"]["loaded"] == ["double", "triple"]
        assert status["workers"]["w1"]["failed"] == {"other": "no such file"}


@virtually
async def test_the_status_sets_promises_beside_what_happened() -> None:
    async with routing() as scene:
        await scene.crew("w1")
        plan = scene.router.plan
        scene.router.apply(Plan(plan.version + 1, {"digits": by_tables()}))
        await asyncio.gather(*(scene.ask(float(i), slo_s=None) for i in range(10)))
        assert scene.router.status()["endpoints"]["digits"]["anticipated_qps"] > 0
        await asyncio.sleep(BUCKET_S)
        seen = scene.router.status()["endpoints"]["digits"]
        assert seen["selection"] == "ramsis"
        assert seen["transport_ms"]["p99"] >= seen["transport_ms"]["p50"]
        assert seen["tables"] == {"state": "none", "made": 0, "wanted": 0}, "nobody makes any here"
        assert seen["feedback"] == {"slack_factor": 1.0, "reason": None}
        guarantee = seen["guarantee"]
        assert guarantee["window_s"] == WINDOW_S
        assert guarantee["kept"] == "too early", "ten queries in time do not tell 1% from 2%"
        assert guarantee["promised_violation_rate"] == pytest.approx(TARGET_RATE)
        assert guarantee["observed_accuracy"] == pytest.approx(0.8)
        assert (guarantee["observed_violation_rate"], guarantee["client_violation_rate"]) == (0.0, 0.0)
        assert (guarantee["queries"], guarantee["violations"], guarantee["broken"]) == (10, 0, False)


@virtually
async def test_a_promise_is_kept_or_broken_once_enough_queries_say_so() -> None:
    async with routing() as scene:
        await scene.crew("w1")
        for _ in range(200):
            await asyncio.gather(*(scene.ask(float(i), slo_s=None) for i in range(4)))
        await asyncio.sleep(BUCKET_S)
        assert _guaranteed(scene)["kept"] == "yes"
        scene.pool.run_s = 0.2
        for _ in range(10):
            await asyncio.gather(*(scene.ask(float(i), slo_s=None) for i in range(4)))
        await asyncio.sleep(BUCKET_S)
        assert _guaranteed(scene)["kept"] == "no"


@virtually
async def test_what_clients_see_is_later_by_the_lag_of_the_loop() -> None:
    async with routing() as scene:
        scene.pool.run_s = 0.06
        await scene.crew("w1")
        scene.router.lag.mean_s = 1.0
        await scene.ask(1.0, slo_s=None)
        await asyncio.sleep(BUCKET_S)
        seen = _guaranteed(scene)
        assert (seen["observed_violation_rate"], seen["client_violation_rate"]) == (0.0, 1.0)


@virtually
async def test_the_status_says_what_batches_take_on_each_worker_and_which_worker_is_slow() -> None:
    async with routing() as scene:
        scene.pool.workers["w3"] = lambda variant, inputs: BatchResult({"y": inputs["x"]}, 2 * BATCH_S)
        scene.pool.run_s = 3 * BATCH_S
        await scene.crew("w1", "w2", "w3")
        for _ in range(1000):
            await asyncio.gather(*(scene.ask(float(i)) for i in range(3)))
        workers = scene.router.status()["workers"]
        assert {name: worker["latency"]["slow"] for name, worker in workers.items()} == {
            "w1": False,
            "w2": False,
            "w3": True,
        }
        fair, slow = (workers[name]["latency"] for name in ("w1", "w3"))
        assert fair["run_factor"] == pytest.approx(1.0, rel=0.05)
        assert slow["run_factor"] == pytest.approx(2.0, rel=0.05)
        assert slow["run_factors"]["double"] == pytest.approx(2.0, rel=0.05)
        assert fair["path_ms"] == pytest.approx(2.0, rel=0.1)
        assert slow["path_ms"] == pytest.approx(1.0, rel=0.1)
        assert all(worker["latency"]["path_tail_ms"] >= worker["latency"]["path_ms"] for worker in workers.values())


@virtually
async def test_nobody_is_ready_before_the_warm_up_is_over() -> None:
    async with routing() as scene:
        scene.router.warm = False
        await scene.crew("w1")
        assert not scene.router.ready("digits")
        scene.router.warm = True
        assert scene.router.ready("digits")


@virtually
async def test_a_query_that_was_refused_counts_against_the_promise() -> None:
    async with routing() as scene:
        with pytest.raises(NoWorker):
            await scene.ask(1.0, slo_s=0.05)
        await asyncio.sleep(BUCKET_S)
        assert _guaranteed(scene)["queries"] == 0, "its deadline was its own"
        with pytest.raises(NoWorker):
            await scene.ask(1.0, slo_s=None)
        await asyncio.sleep(BUCKET_S)
        guarantee = _guaranteed(scene)
        assert (guarantee["queries"], guarantee["observed_violation_rate"]) == (1, 1.0)


def _guaranteed(scene: Scene) -> dict[str, Any]:
    return dict(scene.router.status()["endpoints"]["digits"]["guarantee"])


@virtually
async def test_what_a_router_reports_counts_answers_after_the_deadline_and_refusals_as_violations() -> None:
    async with routing() as scene:
        scene.pool.run_s = 0.2
        await scene.crew("w1")
        await scene.ask(1.0, slo_s=0.3)
        await scene.ask(2.0, slo_s=0.1)
        await scene.members()
        with pytest.raises(NoWorker):
            await scene.ask(3.0, slo_s=0.1)
        report = scene.router.answers.meter.report(5, scene.router.standing())
        assert (dict(report.arrived), dict(report.violated)) == ({"digits": 3}, {"digits": 2})
        assert sum(report.runs["pool", DOUBLE.variant]) == 2
        assert scene.router.answers.meter.report(6, scene.router.standing()).arrived == {}


REQUEST: ContextVar[str] = ContextVar("request", default="nobody's")


@virtually
async def test_a_batch_does_not_end_with_the_request_that_set_it_going() -> None:
    async with routing() as scene:
        await scene.crew("w1")
        run, seen = scene.pool.run, []

        async def noted(worker: str, variant: str, inputs: Arrays) -> BatchResult:
            seen.append(REQUEST.get())
            return await run(worker, variant, inputs)

        scene.pool.run = noted  # type: ignore[method-assign]
        REQUEST.set("a client's")
        assert await scene.ask(1.0) == 2.0
        assert seen == ["nobody's"], "Serve knows by its context which calls a request has made"

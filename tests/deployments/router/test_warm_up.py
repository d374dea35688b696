"""The short load before the first query, in virtual time: what it measures, and that it always ends."""

import logging
from asyncio import create_task, sleep
from typing import Any

import pytest

from catalog.profiles.profiler import sample_inputs
from catalog.tensor import Arrays, TensorSpec
from deployments.messages.worker import BatchResult
from deployments.router import warm_up as warm_up_module
from deployments.router.warm_up import GRACE_S, MOST_WAIT_S, WarmUp, sizes_in_time
from dispatch.query import StageKey
from router_scene import BATCH_S, BOTH, DOUBLE, Scene, now_s, routing, virtually

INPUTS = {StageKey("digits"): (TensorSpec("x", "FP32", (-1,)),)}
LENGTH_S = 2.0


async def warm_up(scene: Scene) -> float:
    """How long it took."""
    began_s = now_s()
    await WarmUp(scene.router, INPUTS, LENGTH_S, now_s).run()
    return now_s() - began_s


def twice_as_slow(variant: str, inputs: Arrays) -> BatchResult:
    return BatchResult({"y": inputs["x"]}, 2 * BATCH_S)


@virtually
async def test_every_variant_is_measured_on_every_worker_with_small_and_large_batches() -> None:
    async with routing() as scene:
        scene.pool.run_s = 5 * BATCH_S
        scene.pool.workers["w2"] = twice_as_slow
        await scene.join("w1", "w2")
        assert await warm_up(scene) == pytest.approx(LENGTH_S, abs=0.1)
        seen = set(scene.pool.batches)
        assert seen == {(worker, variant, rows) for worker in ("w1", "w2") for variant in BOTH for rows in (1, 4)}
        first, second = (scene.router.latency.estimate(worker) for worker in ("w1", "w2"))
        assert first.run_factors.keys() == {*BOTH}
        assert first.run_factor == pytest.approx(1.0, rel=0.05)
        assert first.path_s == pytest.approx(4 * BATCH_S, rel=0.1)
        assert second.run_factor == pytest.approx(2.0, rel=0.05)
        assert second.path_s == pytest.approx(3 * BATCH_S, rel=0.1)
        status = scene.router.status()["endpoints"]["digits"]
        assert (status["arrived"], status["answered"], status["guarantee"]["queries"]) == (0, 0, 0)


@virtually
async def test_samples_are_made_once_for_all_workers_when_they_are_needed_and_let_go_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def noted(specs: Any, rows: int, seed: int, *length: int) -> Arrays:
        made.append(rows)
        return sample_inputs(specs, rows, seed, *length)

    monkeypatch.setattr(warm_up_module, "sample_inputs", noted)
    async with routing() as scene:
        await scene.join("w1", "w2")
        warming = WarmUp(scene.router, INPUTS, LENGTH_S, now_s)
        await warming.run()
        assert {rows for _, _, rows in scene.pool.batches} == {1, 4}
        assert sorted(made) == [1, 4]
        assert not warming._samples


@virtually
async def test_queries_are_decided_by_what_was_measured() -> None:
    async with routing() as scene:
        scene.pool.run_s = 0.060
        scene.pool.workers["w1"] = lambda variant, inputs: BatchResult(
            {"y": inputs["x"]}, 0.050 if variant == DOUBLE.variant else BATCH_S
        )
        await scene.join("w1")
        await warm_up(scene)
        known = scene.router.latency.estimate("w1").corrected(DOUBLE)
        assert known.latency_s[1] > 0.050


@virtually
async def test_workers_that_come_late_are_waited_for() -> None:
    async with routing() as scene:
        await scene.members("w1")

        async def late() -> None:
            await sleep(10.0)
            await scene.follow("w1")

        coming = create_task(late())
        assert await warm_up(scene) == pytest.approx(10.0 + LENGTH_S, abs=0.2)
        assert scene.pool.batches
        await coming


@virtually
async def test_a_worker_that_joins_during_the_warm_up_is_measured_for_as_long() -> None:
    async with routing() as scene:
        await scene.join("w1")

        async def late() -> None:
            await sleep(LENGTH_S / 2)
            await scene.join("w1", "w2")

        coming = create_task(late())
        assert await warm_up(scene) == pytest.approx(1.5 * LENGTH_S, abs=0.2)
        assert scene.router.latency.estimate("w2").run_factors.keys() == {*BOTH}
        await coming


@virtually
async def test_a_worker_exactly_as_the_others_is_known_by_what_it_measured() -> None:
    async with routing() as scene:
        scene.pool.run_s = 5 * BATCH_S
        await scene.join("w1", "w2")
        await warm_up(scene)
        first, second = (scene.router.latency.estimate(worker) for worker in ("w1", "w2"))
        assert first.run_factors.keys() == second.run_factors.keys() == {*BOTH}
        assert first.path_s == pytest.approx(second.path_s, rel=0.05)


@virtually
async def test_a_service_without_workers_is_not_waited_for_for_ever() -> None:
    async with routing() as scene:
        assert await warm_up(scene) == pytest.approx(MOST_WAIT_S, abs=0.1)
        assert scene.pool.batches == []


@virtually
async def test_a_worker_that_goes_is_left_out_and_the_others_are_measured() -> None:
    async with routing() as scene:
        scene.pool.dead.add("w1")
        await scene.join("w1", "w2")
        assert await warm_up(scene) == pytest.approx(LENGTH_S, abs=0.1)
        assert sum(worker == "w1" for worker, _, _ in scene.pool.batches) == 1
        assert scene.router.latency.estimate("w2").batches > 0


@virtually
async def test_a_worker_that_does_not_answer_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async with routing() as scene:
        scene.pool.hanging.add("w1")
        await scene.join("w1", "w2")
        with caplog.at_level(logging.WARNING, logger="ray.serve"):
            assert await warm_up(scene) == pytest.approx(LENGTH_S + GRACE_S)
        assert "did not answer in the warm-up" in caplog.text
        assert scene.router.latency.estimate("w2").batches > 0


@virtually
async def test_a_warm_up_that_fails_is_over_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    def wrong(variant: str, inputs: Arrays) -> BatchResult:
        raise RuntimeError("unheard of")

    async with routing() as scene:
        scene.pool.workers["w1"] = wrong
        await scene.join("w1")
        await warm_up(scene)
        assert "The warm-up failed" in caplog.text
        assert scene.router.latency.estimate("w1").batches == 0


@virtually
async def test_a_variant_that_fails_is_not_measured_and_the_other_is() -> None:
    def brittle(variant: str, inputs: Arrays) -> BatchResult:
        good = BatchResult({"y": inputs["x"]}, BATCH_S)
        return BatchResult({}, 0.0, "RuntimeError: broken") if variant == "double" else good

    async with routing() as scene:
        scene.pool.workers["w1"] = brittle
        await scene.join("w1")
        await warm_up(scene)
        assert scene.router.latency.estimate("w1").run_factors.keys() == {"triple"}


@pytest.mark.parametrize(
    ("latency_s", "sizes"),
    [
        ((0.0, *(0.001 * rows for rows in range(1, 41))), [1, 10, 40]),
        ((0.0, *(0.005 * rows for rows in range(1, 41))), [1, 2, 10]),
        ((0.0, 0.040, 0.080), [1]),
        ((0.0, 0.2, 0.4), [1]),
    ],
    ids=["all in time", "up to half the objective", "one row", "never in time"],
)
def test_batch_sizes_reach_up_to_half_the_objective(latency_s: Any, sizes: list[int]) -> None:
    assert sizes_in_time(latency_s, 0.1) == sizes

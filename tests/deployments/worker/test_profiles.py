"""A worker measures variants, held or new, between the batches of queries. Real ONNX models, no cluster."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worker_scene import toy_worker_spec, variant, x

from catalog.errors import ArtifactError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import Arrays
from deployments.messages.worker import WorkerSpec
from deployments.worker import worker as worker_module
from deployments.worker.worker import Worker


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> WorkerSpec:
    return toy_worker_spec(tmp_path_factory.mktemp("profiles"))


async def test_a_profile_has_every_batch_size_and_leaves_nothing_behind(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    before = await worker.describe()
    new = replace(variant(spec, "good"), name="new", max_batch=4)
    profile = await worker.profile(new, 0.1)
    assert profile.device == "cpu"
    assert profile.batch_sizes == (1, 2, 4)
    assert all(latency.mean_ms > 0 for latency in profile.by_batch.values())
    assert await worker.describe() == before


async def test_a_profile_of_a_variant_that_is_held_leaves_it_in_place(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    await worker.profile(variant(spec, "good"), 0.1)
    assert (await worker.run("good", x(1))).error is None


async def test_batches_of_queries_come_between_the_runs_of_a_profile(
    spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(spec)
    measuring, answered = threading.Event(), threading.Event()

    def pausing(run: Callable[[int], float | None], *_: Any, **__: Any) -> LatencyProfile:
        run(1)
        measuring.set()
        answered.wait()
        seconds = run(1)
        assert seconds is not None
        return LatencyProfile("cpu", {1: BatchLatency.of(np.array([seconds]))})

    monkeypatch.setattr(worker_module, "profile_variant", pausing)
    profiling = asyncio.create_task(worker.profile(variant(spec, "good"), 60.0))
    await asyncio.to_thread(measuring.wait)
    assert (await worker.run("good", x(1))).error is None
    answered.set()
    assert (await profiling).batch_sizes == (1,)


async def test_a_variant_that_cannot_be_loaded_is_not_measured_and_named(spec: WorkerSpec) -> None:
    with pytest.raises(ArtifactError, match=r"corrupt\.onnx"):
        await Worker(spec).profile(variant(spec, "corrupt"), 0.1)


async def test_a_variant_that_raises_while_it_is_measured_is_named_with_the_reason(
    spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(spec)

    def no_more_than_one(inputs: Arrays) -> Arrays:
        if len(inputs["x"]) > 1:
            raise RuntimeError("batch axis is fixed")
        return {"y": inputs["x"]}

    monkeypatch.setattr(worker._runtimes["good"], "run", no_more_than_one)
    with pytest.raises(ArtifactError, match=r"'good' cannot be measured: RuntimeError: batch axis is fixed;"):
        await worker.profile(variant(spec, "good"), 0.1)


def delete_models(folder: Path) -> None:
    for file in folder.glob("*.onnx"):
        file.unlink()


async def test_a_worker_goes_on_when_the_files_of_its_models_are_gone(tmp_path: Path) -> None:
    worker = Worker(toy_worker_spec(tmp_path))
    before = await worker.describe()
    assert before.memory_bytes > 0
    delete_models(tmp_path)
    assert (await worker.describe()).memory_bytes == before.memory_bytes
    assert (await worker.assign("r")).loaded == before.loaded
    assert (await worker.run("good", x(1, 2), router="r")).error is None

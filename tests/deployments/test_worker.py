"""The worker as a plain object: what it loads, runs, reports and survives. Real ONNX models, no cluster."""

import asyncio
import time

import numpy as np
import pytest

from catalog.catalogue import load_catalogue
from catalog.tensor import Arrays
from deployments.worker import Worker
from deployments.worker_messages import WorkerSpec
from toy_models import LIMIT, write_toy_catalogue


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> WorkerSpec:
    folder = tmp_path_factory.mktemp("worker")
    catalogue = load_catalogue(write_toy_catalogue(folder))
    return WorkerSpec("pool", "cpu", 1, catalogue.variants, catalogue.root, str(folder / "cache"))


def x(*values: float) -> Arrays:
    return {"x": np.array(values, dtype=np.float32)}


async def test_a_batch_gives_outputs_and_the_time_it_took(spec: WorkerSpec) -> None:
    result = await Worker(spec).run("good", x(1, 2, 3))
    assert result.error is None
    assert result.outputs["y"].tolist() == [2, 4, 6]
    assert result.run_s > 0


async def test_what_cannot_be_loaded_is_reported_and_the_rest_works(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    report = await worker.describe()
    assert report.loaded == ("brittle", "good")
    assert "corrupt.onnx" in report.failed["corrupt"]
    assert report.memory_bytes > 0
    result = await worker.run("corrupt", x(1))
    assert result.error is not None
    assert "corrupt.onnx" in result.error


async def test_a_variant_that_raises_is_reported_in_one_line_and_works_again(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    result = await worker.run("brittle", x(LIMIT + 1))
    assert result.error is not None
    assert "\n" not in result.error
    assert (await worker.run("brittle", x(1))).outputs["y"].tolist() == [2]


async def test_variants_are_unloaded_and_loaded_in_place(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    assert (await worker.unload("good")).loaded == ("brittle",)
    assert (await worker.unload("good")).loaded == ("brittle",)
    gone = await worker.run("good", x(1))
    assert gone.error is not None
    assert "not loaded" in gone.error
    assert (await worker.load("good")).loaded == ("brittle", "good")
    assert (await worker.run("good", x(1))).error is None


async def test_an_unknown_variant_is_refused_with_the_known_ones(spec: WorkerSpec) -> None:
    report = await Worker(spec).load("nope")
    assert "knows no such variant; it knows corrupt, brittle, good" in report.failed["nope"]


async def test_the_event_loop_stays_free_and_batches_run_one_at_a_time(
    spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(spec)
    inside: list[int] = []
    most = 0

    def slow(inputs: Arrays) -> Arrays:
        nonlocal most
        inside.append(1)
        most = max(most, len(inside))
        time.sleep(0.05)
        inside.pop()
        return {"y": inputs["x"]}

    monkeypatch.setattr(worker._runtimes["good"], "run", slow)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await asyncio.gather(*(worker.run("good", x(i)) for i in range(4)))
    ticking.cancel()
    assert most == 1
    assert ticks > 4

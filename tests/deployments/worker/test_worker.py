"""The worker as a plain object: what it loads, runs, reports and survives. Real ONNX models, no cluster."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worker_scene import toy_worker_spec, variant, x

from catalog.errors import ArtifactError
from catalog.machine_type import machine_type
from catalog.tensor import Arrays
from catalog.variant import Variant
from deployments.messages.worker import WorkerSpec
from deployments.runtimes import making
from deployments.runtimes.base import ModelRuntime, RuntimeOptions
from deployments.runtimes.registry import create
from deployments.worker import hang_watch
from deployments.worker.worker import Worker, WorkerNotAssigned, WrongWorker
from toy_models import LIMIT


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> WorkerSpec:
    return toy_worker_spec(tmp_path_factory.mktemp("worker"))


class Gate:
    """A variant whose loading waits until the gate is open."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.reached = threading.Event()
        self.open = threading.Event()
        self.loads = 0

    def create(self, variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
        if variant == self.variant:
            self.loads += 1
            self.reached.set()
            self.open.wait()
        return create(variant, artifact, options)


@pytest.fixture
def gate(spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(replace(variant(spec, "good"), name="gated"))
    monkeypatch.setattr(making, "create", made.create)
    yield made
    made.open.set()  # else a test that failed would leave a thread that waits for ever


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
    assert (await worker.load(variant(spec, "good"))).loaded == ("brittle", "good")
    assert (await worker.run("good", x(1))).error is None


async def test_the_event_loop_stays_free_and_batches_run_one_at_a_time(
    spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(spec)
    inside: list[int] = []
    most = 0
    all_came = threading.Event()

    def slow(inputs: Arrays) -> Arrays:
        nonlocal most
        inside.append(1)
        most = max(most, len(inside))
        assert all_came.wait(30.0)
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
            if ticks > 4:
                all_came.set()

    ticking = asyncio.create_task(tick())
    began_s = time.perf_counter()
    results = await asyncio.gather(*(worker.run("good", x(i)) for i in range(4)))
    took_s = time.perf_counter() - began_s
    ticking.cancel()
    for number, result in enumerate(results):
        assert result.waited_s >= sum(each.run_s for each in results[1:number]), "for the runs before it"
        assert 0.05 <= result.run_s <= took_s - result.waited_s, "and no waiting is part of a run"
    assert most == 1


async def test_a_worker_gets_to_know_new_variants(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    new = replace(variant(spec, "good"), name="new")
    assert (await worker.load(new)).loaded == ("brittle", "good", "new")
    assert (await worker.run("new", x(1))).outputs["y"].tolist() == [2]


async def test_a_variant_that_loads_at_the_second_try_is_no_failure_any_more(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    mended = replace(variant(spec, "good"), name="corrupt")
    report = await worker.load(mended)
    assert "corrupt" in report.loaded
    assert report.failed == {}


async def test_batches_go_on_while_a_variant_loads(spec: WorkerSpec, gate: Gate) -> None:
    worker = Worker(spec)
    loading = asyncio.create_task(worker.load(gate.variant))
    await asyncio.to_thread(gate.reached.wait)
    assert (await worker.run("good", x(1))).error is None
    assert gate.variant.name not in (await worker.describe()).loaded
    gate.open.set()
    assert gate.variant.name in (await loading).loaded


async def test_a_variant_that_is_asked_for_twice_is_loaded_once(spec: WorkerSpec, gate: Gate) -> None:
    worker = Worker(spec)
    both = [asyncio.create_task(worker.load(gate.variant)) for _ in range(2)]
    await asyncio.to_thread(gate.reached.wait)
    gate.open.set()
    assert [report.loaded for report in await asyncio.gather(*both)] == [("brittle", "good", gate.variant.name)] * 2
    assert gate.loads == 1


async def test_unloading_comes_after_the_loading_that_was_asked_for_before(spec: WorkerSpec, gate: Gate) -> None:
    worker = Worker(spec)
    loading = asyncio.create_task(worker.load(gate.variant))
    await asyncio.to_thread(gate.reached.wait)
    unloading = asyncio.create_task(worker.unload(gate.variant.name))
    gate.open.set()
    assert gate.variant.name in (await loading).loaded
    assert gate.variant.name not in (await unloading).loaded


async def test_a_worker_that_was_never_told_runs_batches_of_anyone(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    for router in (None, "r1", "r2"):
        assert (await worker.run("good", x(1), router=router)).error is None
    assert (await worker.describe()).router is None


async def test_a_worker_runs_batches_of_the_router_that_it_obeys_and_of_no_other(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    assert (await worker.assign("r1")).router == "r1"
    assert (await worker.run("good", x(1), router="r1")).error is None
    for other in ("r2", None):
        with pytest.raises(WorkerNotAssigned, match="belongs to router r1"):
            await worker.run("good", x(1), router=other)


async def test_a_worker_between_two_routers_runs_nothing_that_a_router_sends(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    await worker.assign("r1")
    assert (await worker.assign(None)).router is None
    with pytest.raises(WorkerNotAssigned):
        await worker.run("good", x(1), router="r1")


async def test_batches_that_are_there_already_run_before_another_router_is_obeyed(
    spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(spec)
    await worker.assign("r1")
    running, go_on = threading.Event(), threading.Event()

    def hold(inputs: Arrays) -> Arrays:
        running.set()
        go_on.wait()
        return {"y": inputs["x"]}

    monkeypatch.setattr(worker._runtimes["good"], "run", hold)
    first = asyncio.create_task(worker.run("good", x(1), router="r1"))
    await asyncio.to_thread(running.wait)
    second = asyncio.create_task(worker.run("good", x(2), router="r1"))
    assigning = asyncio.create_task(worker.assign("r2"))
    third = asyncio.create_task(worker.run("good", x(3), router="r1"))
    await asyncio.sleep(0)  # all three are called, in this order
    assert not assigning.done()
    go_on.set()
    assert (await first).error is None
    assert (await second).error is None
    assert (await assigning).router == "r2"
    with pytest.raises(WorkerNotAssigned):
        await third


async def test_calls_that_mean_another_worker_are_refused(spec: WorkerSpec) -> None:
    worker = Worker(spec)
    good = variant(spec, "good")
    calls: list[Any] = [worker.describe("gone"), worker.run("good", x(1), "gone"), worker.assign("r1", "gone")]
    calls += [worker.load(good, "gone"), worker.unload("good", "gone"), worker.profile(good, 0.1, "gone")]
    for call in calls:
        with pytest.raises(WrongWorker, match="not gone"):
            await call
    assert (await worker.run("good", x(1))).error is None


def test_a_worker_says_which_type_of_machine_it_stands_on_unless_it_is_told(spec: WorkerSpec) -> None:
    async def machine(of: WorkerSpec) -> str:
        return (await Worker(of).describe()).info.machine

    empty = replace(spec, variants=())
    assert asyncio.run(machine(empty)) == machine_type("cpu")
    assert asyncio.run(machine(replace(empty, machine="as measured"))) == "as measured"


async def test_a_worker_is_unhealthy_while_a_batch_hangs_and_only_then(
    spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(spec)
    await worker.run("good", x(1, 2))
    await worker.check_health()
    entered, go_on = threading.Event(), threading.Event()

    def hang(inputs: Arrays) -> Arrays:
        entered.set()
        go_on.wait()
        return {"y": inputs["x"]}

    monkeypatch.setattr(worker._runtimes["good"], "run", hang)
    monkeypatch.setattr(hang_watch, "LEAST_S", 0.0)
    monkeypatch.setattr(hang_watch, "TIMES", 0.0)
    running = asyncio.create_task(worker.run("good", x(1)))
    await asyncio.to_thread(entered.wait)
    with pytest.raises(RuntimeError, match="a batch of 1 rows runs on variant good"):
        await worker.check_health()
    go_on.set()
    assert (await running).error is None
    await worker.check_health()


async def test_another_model_of_a_name_is_loaded_and_measured_in_the_place_of_the_one_before(spec: WorkerSpec) -> None:
    good = replace(variant(spec, "good"), name="m")
    brittle = replace(variant(spec, "brittle"), name="m")
    worker = Worker(replace(spec, variants=(good,)))
    before = worker._runtimes["m"]
    x = {"x": np.array([LIMIT + 1.0], dtype=np.float32)}
    assert (await worker.run("m", x)).error is None
    assert (await worker.load(replace(good, accuracy=0.1, max_batch=2))).loaded == ("m",)
    assert worker._runtimes["m"] is before, "the same model"
    with pytest.raises(ArtifactError, match="corrupt"):
        await worker.profile(replace(variant(spec, "corrupt"), name="m"), 0.1)
    assert worker._runtimes["m"] is before, "measuring another one leaves it"
    report = await worker.load(replace(variant(spec, "corrupt"), name="m"))
    assert (report.loaded, report.failed.keys()) == ((), {"m"}), "nobody takes the one before for it"
    assert (await worker.load(brittle)).failed == {}
    assert (await worker.run("m", x)).error is not None

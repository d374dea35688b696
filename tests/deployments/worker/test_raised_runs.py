"""When a worker is said to be broken since every run raises, and when the queries are to blame."""

from pathlib import Path

import numpy as np
import pytest

from catalog.catalogue import load_catalogue
from catalog.tensor import Arrays
from deployments.messages.worker import WorkerSpec
from deployments.worker import raised_runs
from deployments.worker.raised_runs import LEAST_RUNS, LEAST_S, RaisedRuns
from deployments.worker.worker import Worker
from toy_models import LIMIT, write_toy_catalogue

POISON: Arrays = {"x": np.array([LIMIT + 1], dtype=np.float32)}
"""What the brittle model raises on."""

GOOD: Arrays = {"x": np.array([1], dtype=np.float32)}


class Clock:
    """Gives the time that the test says it is."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def perf_counter(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(raised_runs, "time", made)
    return made


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    catalogue = load_catalogue(write_toy_catalogue(tmp_path))
    return Worker(WorkerSpec("pool", "cpu", 1, catalogue.variants, catalogue.root, str(tmp_path / "cache")))


def broken(inputs: Arrays) -> Arrays:
    raise RuntimeError("CUDA error: device-side assert triggered")


def doubts(runs: RaisedRuns, clock: Clock, count: int, every_s: float) -> list[bool]:
    found = []
    for _ in range(count):
        found.append(runs.raised())
        clock.now_s += every_s
    return found


def test_a_worker_is_in_doubt_after_many_runs_that_raised_over_some_time(clock: Clock) -> None:
    assert not any(doubts(RaisedRuns(), clock, 1000, 0.9 * LEAST_S / 1000)), "a burst"
    assert not any(doubts(RaisedRuns(), clock, LEAST_RUNS - 1, LEAST_S)), "a few"
    assert doubts(RaisedRuns(), clock, LEAST_RUNS + 1, LEAST_S / (LEAST_RUNS - 1)) == [
        *([False] * (LEAST_RUNS - 1)),
        True,
        True,
    ]


def test_one_run_that_comes_back_clears_the_worker(clock: Clock) -> None:
    runs = RaisedRuns()
    for _ in range(5):
        assert not any(doubts(runs, clock, LEAST_RUNS - 1, LEAST_S))
        runs.came_back()
    assert doubts(runs, clock, LEAST_RUNS, LEAST_S)[-1]
    runs.blame("slow", "RuntimeError: CUDA error")
    why = runs.why()
    assert why is not None
    assert why.startswith(
        f"the last {LEAST_RUNS} runs, over {LEAST_RUNS * LEAST_S:.1f} s, raised, and so did variant slow"
    )
    assert why.endswith("RuntimeError: CUDA error")
    runs.came_back()
    assert runs.why() is None


async def test_a_worker_on_which_every_run_raises_is_unhealthy(
    worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good", "brittle"):
        monkeypatch.setattr(worker._runtimes[name], "run", broken)
    for number in range(LEAST_RUNS):
        await worker.check_health()
        result = await worker.run(("good", "brittle")[number % 2], GOOD)
        assert result.error is not None
        clock.now_s += LEAST_S / (LEAST_RUNS - 1)
    with pytest.raises(RuntimeError, match=r"the last 20 runs, over 1\d\.\d s, raised.*device-side assert"):
        await worker.check_health()
    monkeypatch.undo()
    assert (await worker.run("good", GOOD)).error is None
    await worker.check_health()


async def test_a_client_whose_queries_alone_raise_costs_no_worker(worker: Worker, clock: Clock) -> None:
    for _ in range(3 * LEAST_RUNS):
        assert (await worker.run("brittle", POISON)).error is not None
        clock.now_s += LEAST_S
        await worker.check_health()


async def test_a_variant_that_was_loaded_later_is_tried_as_well(
    worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = next(each for each in worker._spec.variants if each.name == "good")
    await worker.unload("good")
    await worker.load(good)
    monkeypatch.setattr(worker._runtimes["good"], "run", broken)
    for _ in range(LEAST_RUNS):
        await worker.run("good", GOOD)
        clock.now_s += LEAST_S
    with pytest.raises(RuntimeError, match="and so did variant good on made-up inputs"):
        await worker.check_health()

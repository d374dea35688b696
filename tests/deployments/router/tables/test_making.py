"""Tables of endpoints: made in an executor, then read from disk."""

import asyncio
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from catalog.array_store import ArrayStore
from deployments import processes
from deployments.router.tables import making as table_making
from deployments.router.tables.making import TableMaker, make_grids, table_store
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.maker import table_key

CANDIDATES = tuple(
    Candidate(name, accuracy, (0.0, *(0.005 + run_s * rows for rows in range(1, 5))))
    for name, accuracy, run_s in (("fast", 0.7, 0.001), ("slow", 0.9, 0.010))
)
PROBLEMS = {"digits": {"cpu": WorkerProblem.of(CANDIDATES, 0.05, 1, Poisson(1.0), "per_decision", slack_steps=10)}}


class Idle(Executor):
    """Fails the test that gives it work."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise AssertionError(f"{fn} should not run")


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def unyielding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other tests, a process that yields to all waits for its share of a core for half a minute."""
    monkeypatch.setattr(processes, "BACKGROUND_NICENESS", 0)
    monkeypatch.setattr(processes, "_yield_to_all", lambda _: None)


def test_a_second_start_reads_what_the_first_made(
    threads: Executor, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_making, "table_store", lambda: ArrayStore(tmp_path))
    seen: list[tuple[str, int, int]] = []
    first = make_grids(PROBLEMS, threads, lambda *progress: seen.append(progress))["digits"]["cpu"]
    second = make_grids(PROBLEMS, Idle())["digits"]["cpu"]
    assert first.loads_qps == second.loads_qps
    assert [t.expected_accuracy for t in first.tables] == [t.expected_accuracy for t in second.tables]
    endpoint, done, wanted = seen[-1]
    assert endpoint == "digits"
    assert done == wanted >= len(first.tables)


def test_tables_are_kept_beside_the_profiles(accord_cache: Any) -> None:
    table_store().put("k1", {})
    assert (accord_cache / "tables" / "k1.npz").exists()


@pytest.mark.usefixtures("unyielding")
async def test_a_table_is_made_by_another_process_and_kept(accord_cache: Any) -> None:
    problem = PROBLEMS["digits"]["cpu"].at_load(10.0)
    maker = TableMaker()
    try:
        made, again = await maker.table(problem), await maker.table(problem)
    finally:
        maker.close()
    assert (made.load_qps, made.workers, made.variants) == (10.0, 1, problem.variants)
    assert (again.variant == made.variant).all()
    assert (accord_cache / "tables" / f"{table_key(problem)}.npz").exists()


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="the system knows no processes that yield to all others")
def test_the_process_can_be_there_before_the_first_table_and_yields_from_its_first_instruction_on(
    accord_cache: Any,
) -> None:
    others = {child.pid for child in multiprocessing.active_children()}
    maker = TableMaker()
    maker.begin()
    try:
        (pid,) = {child.pid for child in multiprocessing.active_children()} - others
        assert pid is not None
        assert os.sched_getscheduler(pid) == os.SCHED_IDLE
        maker.begin()
        assert {child.pid for child in multiprocessing.active_children()} - others == {pid}, "one process"
    finally:
        maker.close()


@pytest.mark.usefixtures("unyielding")
async def test_a_process_that_died_is_replaced(accord_cache: Any) -> None:
    """As where the system takes its memory back."""
    maker = TableMaker()
    try:
        await maker.table(PROBLEMS["digits"]["cpu"])
        assert maker._executor is not None
        with pytest.raises(BrokenProcessPool):
            await asyncio.wrap_future(maker._executor.submit(os._exit, 1))
        with pytest.raises(BrokenProcessPool):
            await maker.table(PROBLEMS["digits"]["cpu"])
        assert (await maker.table(PROBLEMS["digits"]["cpu"].at_load(10.0))).load_qps == 10.0
    finally:
        maker.close()


@pytest.mark.usefixtures("unyielding")
async def test_closing_waits_for_no_table(accord_cache: Any) -> None:
    maker = TableMaker()
    await maker.table(PROBLEMS["digits"]["cpu"])
    assert maker._executor is not None
    busy = maker._executor.submit(time.sleep, 0.5)
    while not busy.running():
        await asyncio.sleep(0.01)
    maker.close()
    assert not busy.done()
    maker.close()
    await asyncio.wrap_future(busy)

"""Makes the decision tables of arrival-aware endpoints, in processes of their own, and keeps them on disk."""

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress

from threadpoolctl import threadpool_limits

from catalog.array_store import ArrayStore
from catalog.profile_cache import cache_dir
from dispatch.selection.ramsis.grid import TableGrid
from dispatch.selection.ramsis.grid_maker import make_grid, make_table
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.table import DecisionTable

OnProgress = Callable[[str, int, int], None]
"""Called with the endpoint in hand, its tables that are made, and how many are wanted as far as is known by then."""

Problems = Mapping[str, Mapping[str, WorkerProblem]]
"""Endpoint to device type to what its tables are made for."""

Grids = Mapping[str, Mapping[str, TableGrid]]
"""Endpoint to device type to its tables."""

BACKGROUND_NICENESS = 19
"""Processes this nice run only where a core has nothing else to do, as far as the system knows such a thing."""


def table_store() -> ArrayStore:
    """Where tables are kept between starts."""
    return ArrayStore(cache_dir() / "tables")


class TableMaker:
    """One process that makes tables beside a service, on what its machine's cores have to spare.

    It also reads those that are kept: in the router's own process that would hold up its event loop.
    """

    def __init__(self) -> None:
        self._executor: Executor | None = None

    def begin(self) -> None:
        """Start the process, where it does not run; from its first instruction on it yields to all others."""
        if self._executor is not None:
            return
        others = {child.pid for child in multiprocessing.active_children()}
        self._executor = _pool(1, BACKGROUND_NICENESS)
        self._executor.submit(os.getpid)  # a pool starts its processes when it has work
        for child in multiprocessing.active_children():
            if child.pid is not None and child.pid not in others:
                _yield_to_all(child.pid)

    async def table(self, problem: WorkerProblem) -> DecisionTable:
        """The table of a problem: kept from before, or made now. Raises `BrokenProcessPool` where the process died."""
        self.begin()
        assert self._executor is not None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, _kept_or_made, problem)
        except BrokenProcessPool:
            self.close()
            raise

    def close(self) -> None:
        """End the process, after the table that it is making; nobody waits for that."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None


def _kept_or_made(problem: WorkerProblem) -> DecisionTable:
    return make_table(problem, None, table_store())


@contextmanager
def processes(count: int | None = None, niceness: int = 0) -> Iterator[Executor]:
    """Processes for making tables, by default as many as there are CPUs; none is started before it has work.

    They begin afresh instead of as copies of this one, whose threads and sockets they must not have. The higher
    ``niceness``, the more they yield to others. They end with this process, also where it is killed.
    """
    with _pool(count or os.cpu_count() or 1, niceness) as pool:
        yield pool


def _pool(count: int, niceness: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _settle, (niceness,))


def make_grids(
    problems: Problems, executor: Executor, on_progress: OnProgress | None = None
) -> dict[str, dict[str, TableGrid]]:
    """The grid of every endpoint and device, made now where it is not kept from before."""
    grids: dict[str, dict[str, TableGrid]] = {}
    for endpoint, by_device in problems.items():
        grids[endpoint] = {
            device: make_grid(problem, executor, table_store(), _reporter(endpoint, on_progress))
            for device, problem in by_device.items()
        }
    return grids


def _reporter(endpoint: str, on_progress: OnProgress | None) -> Callable[[int, int], None] | None:
    if on_progress is None:
        return None
    return lambda done, wanted: on_progress(endpoint, done, wanted)


def _settle(niceness: int) -> None:
    """Each process is one of many: it computes in one thread."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(niceness)
    if niceness >= BACKGROUND_NICENESS:
        _yield_to_all(os.getpid())
    threadpool_limits(1)


def _yield_to_all(pid: int) -> None:
    """The process runs only where nothing else wants to, as far as the system knows such a thing."""
    if hasattr(os, "SCHED_IDLE"):
        with suppress(ProcessLookupError):
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def _end_with_parent() -> None:
    """A parent that was killed could not say goodbye, and its pool would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

"""Makes the decision tables of arrival-aware endpoints, in processes of their own, and keeps them on disk."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool

from catalog.array_store import ArrayStore
from catalog.profiles.profile_cache import cache_dir
from deployments.processes import background_process
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid
from dispatch.selection.ramsis.tables.maker import make_grid, make_table
from dispatch.selection.ramsis.tables.table import DecisionTable

OnProgress = Callable[[str, int, int], None]
"""Called with the endpoint in hand, its tables that are made, and how many are wanted as far as is known by then."""

Problems = Mapping[str, Mapping[str, WorkerProblem]]
"""Endpoint to device type to what its tables are made for."""

Grids = Mapping[str, Mapping[str, TableGrid]]
"""Endpoint to device type to its tables."""


def table_store() -> ArrayStore:
    """Where tables are kept between starts."""
    return ArrayStore(cache_dir() / "tables")


class TableMaker:
    """One process that makes tables beside a service, on what its machine's cores have to spare.

    It also reads those that are kept: in the router's own process that would hold up its event loop.
    """

    worked_s: float
    """Seconds of a core that its process has spent on tables so far."""

    def __init__(self) -> None:
        self._executor: Executor | None = None
        self.worked_s = 0.0

    def begin(self) -> None:
        """Start the process, where it does not run; from its first instruction on it yields to all others."""
        if self._executor is not None:
            return
        self._executor = background_process()

    async def table(self, problem: WorkerProblem) -> DecisionTable:
        """The table of a problem: kept from before, or made now. Raises `BrokenProcessPool` where the process died."""
        self.begin()
        assert self._executor is not None
        try:
            made, worked_s = await asyncio.get_running_loop().run_in_executor(self._executor, _kept_or_made, problem)
        except BrokenProcessPool:
            self.close()
            raise
        self.worked_s += worked_s
        return made

    def close(self) -> None:
        """End the process, after the table that it is making; nobody waits for that."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None


def _kept_or_made(problem: WorkerProblem) -> tuple[DecisionTable, float]:
    """The table, and the seconds of a core that it took."""
    began_s = time.process_time()
    table = make_table(problem, None, table_store())
    return table, time.process_time() - began_s


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

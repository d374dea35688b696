"""Keeps the tables in force fitting: to how many workers there are, and to the load."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from deployments.router import Router
from deployments.table_making import BACKGROUND_NICENESS, Problems, make_grids, processes, table_store
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.ramsis.grid import TableGrid, fluid_capacity_qps
from dispatch.selection.ramsis.grid_maker import make_table
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.table import DecisionTable
from dispatch.table_plan import served_by_tables, with_tables

logger = logging.getLogger("ray.serve")

CHECK_EVERY_S = 1.0
SETTLED_S = 5.0
"""Workers come one by one, and one that died is soon replaced: tables are made for a number that has lasted so long."""

RETRY_S = 60.0
"""After tables could not be made."""

HEADROOM = 1.1
"""A table beyond the grid is made for loads this much apart, and for no more than `MOST_OVERLOAD` of capacity."""

MOST_OVERLOAD = 2.0


class TableKeeper:
    """Makes tables in the background while the router serves with those it has, and gives them to it as a new plan.

    ``problems`` are what the plan's tables were made for. `run` goes on until it is cancelled.
    """

    def __init__(self, router: Router, problems: Problems, clock: Callable[[], float]) -> None:
        self._router = router
        self._problems = problems
        self._clock = clock
        self._differs_since_s: dict[str, float] = {}

    async def run(self) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self.check()
            except Exception:
                logger.exception("Decision tables could not be made; serving goes on with those in force.")
                await asyncio.sleep(RETRY_S)

    async def check(self) -> None:
        """Make what is missing now, if anything, and put it in force."""
        for name, grids in served_by_tables(self._router.plan.endpoints.values()).items():
            workers = self._settled_workers(name, next(iter(grids.values())).workers)
            if workers is not None:
                await self._remake(name, workers)
            else:
                await self._extend(name, grids)

    def _settled_workers(self, name: str, planned: int) -> int | None:
        """How many workers to plan for; None while they are as planned, none at all, or changing."""
        workers = self._router.workers_of(name)
        if workers in (0, planned):
            self._differs_since_s.pop(name, None)
            return None
        since_s = self._differs_since_s.setdefault(name, self._clock())
        return workers if self._clock() - since_s >= SETTLED_S else None

    async def _remake(self, name: str, workers: int) -> None:
        logger.info("Endpoint %s is served by %d workers now: making decision tables for them.", name, workers)
        problems = {device: replace(problem, workers=workers) for device, problem in self._problems[name].items()}
        grids = await asyncio.to_thread(_make, name, problems)
        self._problems = {**self._problems, name: problems}
        self._put_in_force(name, grids)

    async def _extend(self, name: str, grids: Mapping[str, TableGrid]) -> None:
        load_qps = self._router.anticipated_qps(name)
        extended = dict(grids)
        for device, grid in grids.items():
            problem = self._problems[name][device]
            if not grid.covers(load_qps) and load_qps <= MOST_OVERLOAD * fluid_capacity_qps(problem):
                rung_qps = grid.loads_qps[-1]
                while rung_qps < load_qps:
                    rung_qps *= HEADROOM
                logger.info("Endpoint %s: making a decision table for %.0f queries/s.", name, rung_qps)
                table = await asyncio.to_thread(_solve, problem.at_load(rung_qps))
                extended[device] = grid.extended(table)
        if extended != dict(grids):
            self._put_in_force(name, extended)

    def _put_in_force(self, name: str, grids: Mapping[str, TableGrid]) -> None:
        plan = self._router.plan
        endpoint: EndpointPlan | None = plan.endpoints.get(name)
        if endpoint is None:
            return
        self._router.apply(Plan(plan.version + 1, {**plan.endpoints, name: with_tables(endpoint, grids)}))
        logger.info("Endpoint %s: plan version %d with new decision tables is in force.", name, plan.version + 1)


def _make(name: str, problems: Mapping[str, WorkerProblem]) -> Mapping[str, TableGrid]:
    with processes(max(1, (os.cpu_count() or 1) // 2), BACKGROUND_NICENESS) as executor:
        return make_grids({name: problems}, executor)[name]


def _solve(problem: WorkerProblem) -> DecisionTable:
    with processes(1, BACKGROUND_NICENESS) as executor:
        return make_table(problem, executor, table_store())

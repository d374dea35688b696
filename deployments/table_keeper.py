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
"""After tables of an endpoint could not be made."""

HEADROOM = 1.1
"""Tables beyond the grid are made for loads this much apart."""

MOST_OVERLOAD = 1.25
"""No table is made for more than this share of the fluid capacity: the fastest variant is all that helps there."""


class TableKeeper:
    """Makes tables in the background while the router serves with those it has, and gives them to it as a new plan.

    ``problems`` are what the plan's tables were made for. New ones are made where the number of workers, the load, or
    what the controller says of objective and variants is not what they were made for. `run` goes on until cancelled.
    """

    def __init__(self, router: Router, problems: Problems, clock: Callable[[], float]) -> None:
        self._router = router
        self._problems = problems
        self._clock = clock
        self._differing: dict[str, tuple[int, float]] = {}
        """Endpoint to a number of workers that is not the planned one, and since when it has been that."""
        self._retry_at_s: dict[str, float] = {}

    async def run(self) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            await self.check()

    async def check(self) -> None:
        """Make what is missing now, if anything, and put it in force; an endpoint that fails is left alone a while."""
        for name, grids in served_by_tables(self._router.plan.endpoints.values()).items():
            if self._clock() < self._retry_at_s.get(name, 0.0):
                continue
            try:
                await self._keep(name, grids)
            except Exception:
                logger.exception("Endpoint %s: decision tables could not be made; those in force serve on.", name)
                self._retry_at_s[name] = self._clock() + RETRY_S

    async def _keep(self, name: str, grids: Mapping[str, TableGrid]) -> None:
        workers = self._settled_workers(name, next(iter(grids.values())).workers)
        terms = self._new_terms(name)
        if terms is not None:
            logger.info("Endpoint %s has another objective or other variants: making decision tables for them.", name)
            await self._remake(name, terms)
        elif workers is not None:
            logger.info("Endpoint %s is served by %d workers now: making decision tables for them.", name, workers)
            problems = {device: replace(problem, workers=workers) for device, problem in self._problems[name].items()}
            await self._remake(name, problems)
        else:
            await self._extend(name, grids)

    def _new_terms(self, name: str) -> dict[str, WorkerProblem] | None:
        """What tables are to be made for by the newest directive; None where they were made for that."""
        directive = self._router.directive
        terms = None if directive is None else directive.endpoints.get(name)
        if terms is None:
            return None
        wanted = {
            device: WorkerProblem.of(
                offered,
                terms.slo_s,
                problem.workers,
                problem.arrivals,
                problem.formulation,
                problem.batching,
                problem.balancing,
                problem.slack_steps,
            )
            for device, problem in self._problems[name].items()
            if (offered := terms.candidates.get(device))
        }
        same = all(self._problems[name][device] == problem for device, problem in wanted.items())
        return None if same else {**self._problems[name], **wanted}

    def _settled_workers(self, name: str, planned: int) -> int | None:
        """How many workers to plan for; None while they are as planned, none at all, or changing."""
        workers = self._router.workers_of(name)
        if workers in (0, planned):
            self._differing.pop(name, None)
            return None
        number, since_s = self._differing.get(name, (None, 0.0))
        if number != workers:
            self._differing[name] = (workers, self._clock())
            return None
        return workers if self._clock() - since_s >= SETTLED_S else None

    async def _remake(self, name: str, problems: Mapping[str, WorkerProblem]) -> None:
        grids = await asyncio.to_thread(_make, name, problems)
        self._problems = {**self._problems, name: problems}
        self._differing.pop(name, None)
        self._put_in_force(name, grids)

    async def _extend(self, name: str, grids: Mapping[str, TableGrid]) -> None:
        """One table for the load, where a grid lacks it; another device gets its own at the next look."""
        load_qps = self._router.anticipated_qps(name)
        for device, grid in grids.items():
            problem = self._problems[name][device]
            most_qps = MOST_OVERLOAD * fluid_capacity_qps(problem)
            if not grid.covers(load_qps) and load_qps <= most_qps:
                rung_qps = grid.loads_qps[-1]
                while rung_qps < load_qps:
                    rung_qps *= HEADROOM
                rung_qps = min(rung_qps, most_qps)
                logger.info("Endpoint %s: making a decision table for %.0f queries/s.", name, rung_qps)
                table = await asyncio.to_thread(_solve, problem.at_load(rung_qps))
                self._put_in_force(name, {**grids, device: grid.extended(table)})
                return

    def _put_in_force(self, name: str, grids: Mapping[str, TableGrid]) -> None:
        plan = self._router.plan
        endpoint: EndpointPlan | None = plan.endpoints.get(name)
        if endpoint is None:
            return
        served = with_tables(self._on_terms(endpoint, grids), grids)
        self._router.apply(Plan(plan.version + 1, {**plan.endpoints, name: served}))
        logger.info("Endpoint %s: plan version %d with new decision tables is in force.", name, plan.version + 1)

    def _on_terms(self, endpoint: EndpointPlan, grids: Mapping[str, TableGrid]) -> EndpointPlan:
        """The endpoint with the objective of its tables, and with those of its variants that they choose."""
        directive = self._router.directive
        terms = None if directive is None else directive.endpoints.get(endpoint.name)
        if terms is None:
            return endpoint
        offered = {**endpoint.candidates, **{device: terms.candidates.get(device, ()) for device in grids}}
        kept = {
            device: tuple(c for c in offered[device] if c.variant in grid.variants) for device, grid in grids.items()
        }
        return replace(endpoint, slo_s=terms.slo_s, candidates={**offered, **kept})


def _make(name: str, problems: Mapping[str, WorkerProblem]) -> Mapping[str, TableGrid]:
    with processes(max(1, (os.cpu_count() or 1) // 2), BACKGROUND_NICENESS) as executor:
        return make_grids({name: problems}, executor)[name]


def _solve(problem: WorkerProblem) -> DecisionTable:
    with processes(1, BACKGROUND_NICENESS) as executor:
        return make_table(problem, executor, table_store())

"""Makes decision tables in the background and puts them in force as they come."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from types import MappingProxyType

from deployments.router.router import Router
from deployments.router.tables.making import TableMaker
from deployments.router.tables.progress import TableProgress, TableState
from deployments.router.tables.settled import Settled
from dispatch.latency.estimate import LatencyEstimate
from dispatch.plan import EndpointPlan
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import Balancing, Formulation
from dispatch.selection.ramsis.tables.leveled_grids import LeveledGrids
from dispatch.selection.ramsis.tables.work import TableTask, TableWork
from dispatch.table_plan import with_selection

logger = logging.getLogger("ray.serve")

LOOK_EVERY_S = 0.25
LATE_S = 0.005
"""While the router's event loop is this late on average, it is short of processor time: tables wait."""

PAUSE_S = 0.1
"""Between two tables: each costs the router some milliseconds, and kept ones come as fast as they are asked for."""

BUSY = 0.5
"""Where more than this share of the machine's cores is at work, tables for other latencies than the present one wait:
even what runs only on idle cores takes caches, memory and, of cores that are threads of one, speed from the others."""

REST = 4.0
"""And to each table belongs a rest of so many times as long as its process was at work on it ..."""

FULL, LONG_REST = 0.75, 20.0
"""... and of so many times where more than this share of the cores is at work: tables in the making have had 1.5 to
3% of queries late there. What the process waited for a core meanwhile counts as rest. Until there are new ones, those
that are there are read in rescaled time."""

PUBLISH_EVERY_S = 1.0
"""Every plan with new tables has all queues looked at; the first tables are in force at once."""

RETRY_S = 60.0
"""After a table of an endpoint could not be made."""

NO_FORMULATIONS: Mapping[str, Formulation] = MappingProxyType({})


class TableKeeper:
    """Makes what the endpoints with policy ``ramsis`` need; `run` goes on until cancelled.

    ``balancing`` names these endpoints. Until there are tables, and for a device type that has none, the greedy policy
    decides; tables for other latencies than those measured are read in rescaled time (`RamsisSelection`).
    ``formulations`` has what tables of endpoints are to be made by, where that is given.
    ``highest_qps`` is the load where the router itself ends, however much its workers could bear; ``busy_share`` tells
    how much of the machine is at work, 0 to 1.
    """

    def __init__(
        self,
        router: Router,
        balancing: Mapping[str, Balancing],
        maker: TableMaker,
        clock: Callable[[], float],
        highest_qps: float,
        busy_share: Callable[[], float],
        formulations: Mapping[str, Formulation] = NO_FORMULATIONS,
    ) -> None:
        self._router = router
        self._balancing = balancing
        self._maker = maker
        self._clock = clock
        self._highest_qps = highest_qps
        self._busy_share = busy_share
        self._formulations = formulations
        self._work: dict[str, dict[str, TableWork]] = {name: {} for name in balancing}
        self._workers = {name: Settled() for name in balancing}
        self._query_rows = {name: Settled() for name in balancing}
        self._retry_at_s: dict[str, float] = {}
        self._published_s: dict[str, float] = {}
        self._unpublished: set[str] = set()

    async def first(self, within_s: float) -> None:
        """Make as many tables as can be made in that time, so that the first queries find some."""
        end_s = self._clock() + within_s
        try:
            async with asyncio.timeout(within_s):
                while self._clock() < end_s and await self.step():
                    pass
        except TimeoutError:
            pass  # the table in the making is kept on disk once it is made

    async def run(self) -> None:
        """Look what is missing, make one table after the other, and put them in force."""
        while True:
            try:
                busy_share, began_s, before_s = self._busy_share(), self._clock(), self._maker.worked_s
                late = self._router.lag.mean_s > LATE_S
                worked = not late and await self.step(ahead=busy_share <= BUSY)
                worked_s = self._maker.worked_s - before_s
                rest_s = _rest(busy_share) * worked_s - (self._clock() - began_s - worked_s)
                await asyncio.sleep(max(PAUSE_S, rest_s) if worked else LOOK_EVERY_S)
            except Exception:
                logger.exception("Decision tables could not be made; what is in force serves on.")
                await asyncio.sleep(RETRY_S)

    async def step(self, ahead: bool = True) -> bool:
        """Make the next table, if any is missing; gives whether one was. Without ``ahead`` only what is needed now."""
        worked = False
        for name in self._balancing:
            if name in self._router.plan.endpoints and self._clock() >= self._retry_at_s.get(name, -inf):
                try:
                    worked = await self._step(name, ahead) or worked
                except Exception:
                    logger.exception(
                        "Endpoint %s: a decision table could not be made; what is in force serves on.", name
                    )
                    self._retry_at_s[name] = self._clock() + RETRY_S
        return worked

    async def _step(self, name: str, ahead: bool) -> bool:
        self._renew(name)
        work = self._work[name]
        worked = False
        for device, own in list(work.items()):
            own.aim(self._latency(), self._router.anticipated_qps(name))
            wanted = own.next(ahead)
            if wanted is not None:
                level, problem = wanted
                table = await self._maker.table(problem)
                if not table.settled:
                    logger.warning(
                        "Endpoint %s: the decision table for %.4g queries/s did not settle in the time and sweeps that "
                        "it has; what it promises may be off.",
                        name,
                        problem.load_qps,
                    )
                own.add(level, table)
                worked = True
                self._renew(name)
                if work.get(device) is not own:  # it was for terms or workers of before
                    return True
                self._unpublished.add(name)
        if self._is_due(name, worked):
            self._publish(name)
        self._router.tables[name] = self._progress(name)
        return worked

    def _renew(self, name: str) -> None:
        """Begin anew where what the tables are for has changed: variants, objective, workers, rows of a query."""
        offered = self._router.offered(name)
        now_s = self._clock()
        workers = self._workers[name].see(self._router.workers_of(name), now_s)
        if not workers:
            return
        query_rows = self._query_rows[name].see(self._router.observer.usual_rows(name) or 0, now_s) or 1
        endpoint = self._router.plan.endpoints[name]
        work = self._work[name]
        for device, candidates in offered.items():
            task = TableTask(
                offered=candidates,
                slo_s=endpoint.slo_s,
                workers=workers,
                balancing=self._balancing[name],
                highest_qps=self._highest_qps,
                formulation=self._formulations.get(name),
                query_rows=query_rows,
            )
            kept = work.get(device)
            if kept is None or replace(kept.task, highest_qps=task.highest_qps) != task:
                made_for = f"{workers} workers, queries of {task.query_rows} rows"
                logger.info("Endpoint %s on %s: making decision tables for %s.", name, device, made_for)
                work[device] = TableWork(task, None if kept is None else _still_read(kept, task))
                if kept is not None:  # what is read now may be for other terms, and the next table long in the making
                    self._router.tables[name] = self._progress(name)
        for device in work.keys() - endpoint.stage.candidates.keys():  # not those that only have no worker just now
            del work[device]

    def _latency(self) -> LatencyEstimate:
        return self._router.latency.typical()

    def _is_due(self, name: str, worked: bool) -> bool:
        """Whether to put tables in force: new ones now and then, and at once those that a changed plan left out.

        A plan with other candidates comes without tables, also where the workers hold what they held before.
        """
        if (endpoint := self._router.plan.endpoints.get(name)) is not None and _is_bare(endpoint):
            return True
        due_s = self._published_s.get(name, -inf) + PUBLISH_EVERY_S
        return name in self._unpublished and (self._clock() >= due_s or not worked)

    def _publish(self, name: str) -> None:
        """Put the tables that are made in force as a new plan; nothing to do where none is for the plan as it is."""
        plan = self._router.plan
        endpoint = plan.endpoints.get(name)
        if endpoint is None:
            return
        leveled = {
            device: grids
            for device, own in self._work[name].items()
            if (grids := own.grids) is not None and _is_for(own.task, endpoint, device)
        }
        if not leveled:
            return
        first = name not in self._published_s
        served = with_selection(endpoint, RamsisSelection(leveled=leveled), self._latency)
        self._router.apply(replace(plan, version=plan.version + 1, endpoints={**plan.endpoints, name: served}))
        self._unpublished.discard(name)
        self._published_s[name] = self._clock()
        if first:
            logger.info("Endpoint %s: the first decision tables are in force.", name)

    def _progress(self, name: str) -> TableProgress:
        work = self._work[name].values()
        made, wanted = sum(own.made for own in work), sum(own.wanted for own in work)
        return TableProgress(self._state(name), made, wanted, self._query_rows[name].value or 1)

    def _state(self, name: str) -> TableState:
        selection = self._router.plan.endpoints[name].stage.selection
        if not isinstance(selection, RamsisSelection):
            return TableState.NONE
        load_qps, latency = self._router.anticipated_qps(name), self._latency()
        workers = self._router.workers_of(name)
        if not workers or not self._work[name]:
            return TableState.NONE
        readings = [
            (selection.reading(device, latency, workers, load_qps), own.task.query_rows)
            for device, own in self._work[name].items()
        ]
        if any(reading is None for reading, _ in readings):
            return TableState.NONE
        exact = all(reading and reading.exact and reading.query_rows == rows for reading, rows in readings)
        return TableState.EXACT if exact else TableState.APPROXIMATE


def _is_bare(endpoint: EndpointPlan) -> bool:
    """Whether no table decides for the endpoint."""
    selection = endpoint.stage.selection
    return isinstance(selection, RamsisSelection) and not selection.leveled


def _is_for(task: TableTask, endpoint: EndpointPlan, device: str) -> bool:
    """Whether the plan still has the objective and the candidates that tables of a device type were made for."""
    candidates = endpoint.stage.candidates.get(device, ())
    return task.slo_s == endpoint.slo_s and all(each in candidates for each in task.offered)


def _still_read(work: TableWork, task: TableTask) -> LeveledGrids | None:
    """The tables of before that do for another task until it has its own: those for queries of another size."""
    alike = replace(work.task, highest_qps=task.highest_qps, query_rows=task.query_rows) == task
    return replace(work.grids, before=None) if alike and work.grids is not None else None


def _rest(busy_share: float) -> float:
    """How many times as long as its process worked on a table nothing is made then."""
    return LONG_REST if busy_share > FULL else REST if busy_share > BUSY else 0.0

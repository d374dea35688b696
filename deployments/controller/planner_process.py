"""Solves in a process of its own, so that planning takes neither the event loop nor the interpreter of the caller."""

import asyncio
import importlib
import logging
import multiprocessing
import os
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.planners.planner import Planner
from catalog.errors import PlannerFailed
from deployments.processes import processes

logger = logging.getLogger("ray.serve")

NICENESS = 5
"""A plan is wanted soon, but not at the expense of the batches that run meanwhile."""

TRIES = 2
LIMIT_S = 60.0
"""Many times what a solver is given: a process that takes longer will not answer at all."""

SLOW_IMPORTS = ("ortools.math_opt.python.mathopt", "ortools.graph.python.min_cost_flow")


class PlannerProcess:
    """One process that plans, one plan at a time; it begins at once, and ends with this one or with `close`.

    Lives on one event loop and is not thread-safe.
    """

    def __init__(self) -> None:
        self._closed = False
        self._begin()

    async def plan(self, planner: Planner, observation: Observation) -> ClusterPlan | NoPlan:
        """What the planner decides; planner and observation must be picklable.

        Errors of the planner pass through. A process that dies is replaced and asked once more; raises
        `PlannerFailed` where that one dies as well, or this was closed. A call that is cancelled is worked off all
        the same before the next.
        """
        for _ in range(TRIES):
            executor = self._executor
            try:
                return await asyncio.wait_for(asyncio.wrap_future(executor.submit(planner.plan, observation)), LIMIT_S)
            except TimeoutError:
                if executor is self._executor and not self._closed:
                    self._kill()
                    self._begin()
                raise PlannerFailed(
                    f"planner {planner.name!r} had no answer after {LIMIT_S:.0f} s, and was stopped; the plan before "
                    "serves on"
                ) from None
            except BrokenExecutor:
                if self._closed:
                    raise PlannerFailed(f"the process of planner {planner.name!r} was closed; begin another") from None
                logger.exception("The process that planner %s ran in died.", planner.name)
                if executor is self._executor:  # else another call has replaced it already
                    self._end()
                    self._begin()
        raise PlannerFailed(
            f"the process of planner {planner.name!r} died {TRIES} times over one plan for {len(observation.workers)} "
            "workers; see its last words in the log of this process, and whether the machine is short of memory"
        )

    def close(self) -> None:
        """End the process, whatever it is at; waits for one that has just begun, a second or two."""
        self._closed = True
        self._kill()

    def _kill(self) -> None:
        try:
            pid = self._pid.result()
        except BrokenExecutor:
            pid = None
        for child in multiprocessing.active_children():
            if child.pid == pid:
                child.kill()
        self._end()

    def _begin(self) -> None:
        self._process = ExitStack()
        self._executor: Executor = self._process.enter_context(processes(1, NICENESS))
        self._pid: Future[int] = self._executor.submit(_warm_up)

    def _end(self) -> None:
        self._process.close()


def _warm_up() -> int:
    """Have the solvers at hand before the first plan is asked for; gives the id of this process."""
    for module in SLOW_IMPORTS:
        importlib.import_module(module)
    return os.getpid()
